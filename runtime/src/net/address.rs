//! What kind of network an address is in. Everything that is not known to be public is not.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of network that an address is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AddressClass {
    /// The Internet.
    Public,
    /// This host.
    Loopback,
    /// A private network: 10/8, 172.16/12, 192.168/16, fc00::/7.
    Private,
    /// The local link: 169.254/16, fe80::/10. Clouds have services for their own machines there.
    LinkLocal,
    /// A cloud's service for its own machines, which hands out their credentials.
    Metadata,
    /// Shared by a provider's customers: 100.64/10.
    Shared,
    /// Many hosts at once.
    Multicast,
    /// No host: 0/8, `::`.
    Unspecified,
    /// Documentation, benchmarks, broadcast, obsolete transition and whatever is not assigned.
    Reserved,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Metadata => "cloud metadata",
            Self::Shared => "shared (100.64.0.0/10)",
            Self::Multicast => "multicast",
            Self::Unspecified => "unspecified",
            Self::Reserved => "reserved",
        })
    }
}

/// How far a connection may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses alone.
    Public,
    /// Also loopback, private and shared ones. The local link, where clouds answer their own machines under more addresses
    /// than anybody lists, metadata services elsewhere, multicast and reserved addresses stay out of reach: whoever wants
    /// one of them names its address.
    Private,
    /// Of these what is not public: for what may not travel through the Internet.
    Inside,
    /// This host alone, as `localhost` means it.
    Loopback,
    /// Any address: its operator named it.
    Any,
}

impl Reach {
    /// Whether a connection to an address of `class` may be made.
    pub fn admits(self, class: AddressClass) -> bool {
        use AddressClass::{Loopback, Private, Public, Shared};
        match self {
            Self::Public => class == Public,
            Self::Private => class == Public || Self::Inside.admits(class),
            Self::Inside => matches!(class, Loopback | Private | Shared),
            Self::Loopback => class == Loopback,
            Self::Any => true,
        }
    }
}

/// Whether what is sent to an address of `class` in clear stays where its operator sees to it: on this host, on the local
/// link, or in a private network.
pub(crate) fn is_inside(class: AddressClass) -> bool {
    matches!(class, AddressClass::LinkLocal | AddressClass::Metadata) || Reach::Inside.admits(class)
}

/// Addresses that clouds answer their own machines on.
const METADATA: [IpAddr; 9] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// The class of `address`. An IPv4 address inside of an IPv6 one (mapped, NAT64) has the class of the former.
pub fn classify(address: IpAddr) -> AddressClass {
    let address = address.to_canonical();
    if METADATA.contains(&address) {
        return AddressClass::Metadata;
    }
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

/// By the IANA registry of special-purpose addresses of IPv4.
fn classify_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        [0, ..] => AddressClass::Unspecified,
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [169, 254, ..] => AddressClass::LinkLocal,
        [100, 64..=127, ..] => AddressClass::Shared,
        [224..=239, ..] => AddressClass::Multicast,
        // Protocol assignments, documentation, relays of 6to4, benchmarks; class E and broadcast.
        [192, 0, 0 | 2, _]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [240..=255, ..] => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

/// By the IANA registry of special-purpose addresses of IPv6: of global unicast (2000::/3) what is not set aside.
fn classify_v6(address: Ipv6Addr) -> AddressClass {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        // NAT64: a gateway sends it on to the IPv4 address at its end.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => classify(IpAddr::V4(joined(high, low))),
        [0xfc00..=0xfdff, ..] => AddressClass::Private,
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        // Site-local, deprecated and still routed in places.
        [0xfec0..=0xfeff, ..] => AddressClass::Private,
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        // 6to4 leads to the IPv4 address in it, by relays that nobody vouches for.
        [0x2002, high, low, ..] => match classify(IpAddr::V4(joined(high, low))) {
            AddressClass::Public => AddressClass::Reserved,
            inner => inner,
        },
        // Protocol assignments, Teredo among them; documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressClass::Reserved,
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a table of addresses that are right")]

    use super::*;

    #[test]
    fn every_address_has_its_class() {
        use AddressClass::*;
        for (address, class) in [
            ("93.184.216.34", Public),
            ("2606:2800:220:1::1", Public),
            ("127.0.0.1", Loopback),
            ("127.255.255.254", Loopback),
            ("::1", Loopback),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:10.0.0.1", Private),
            ("64:ff9b::7f00:1", Loopback),
            ("64:ff9b::5db8:d822", Public),
            ("64:ff9b::a9fe:a9fe", Metadata),
            ("64:ff9b:1::1", Reserved),
            ("2002:7f00:1::1", Loopback),
            ("2002:5db8:d822::1", Reserved),
            ("2001::1", Reserved),
            ("::127.0.0.1", Reserved),
            ("10.1.2.3", Private),
            ("172.15.0.1", Public),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("172.32.0.1", Public),
            ("192.168.0.1", Private),
            ("fc00::1", Private),
            ("fd12:3456::1", Private),
            ("fec0::1", Private),
            ("169.254.1.1", LinkLocal),
            ("fe80::1", LinkLocal),
            ("169.254.42.42", LinkLocal),
            ("169.254.0.23", LinkLocal),
            ("::ffff:169.254.0.23", LinkLocal),
            ("169.254.169.254", Metadata),
            ("::ffff:169.254.169.254", Metadata),
            ("fd00:ec2::254", Metadata),
            ("fd00:ec2::23", Metadata),
            ("100.100.100.200", Metadata),
            ("100.64.0.1", Shared),
            ("100.63.0.1", Public),
            ("224.0.0.1", Multicast),
            ("ff02::1", Multicast),
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Unspecified),
            ("::", Unspecified),
            ("192.0.2.1", Reserved),
            ("198.51.100.1", Reserved),
            ("203.0.113.1", Reserved),
            ("198.18.0.1", Reserved),
            ("192.88.99.1", Reserved),
            ("255.255.255.255", Reserved),
            ("240.0.0.1", Reserved),
            ("2001:db8::1", Reserved),
            ("3fff::1", Reserved),
            ("4000::1", Reserved),
        ] {
            assert_eq!(classify(address.parse().unwrap()), class, "{address}");
        }
    }

    #[test]
    fn reach_is_public_unless_something_else_is_said() {
        use AddressClass::*;
        let all = [Public, Loopback, Private, LinkLocal, Metadata, Shared, Multicast, Unspecified, Reserved];
        let admitted =
            |reach: Reach| all.into_iter().filter(|class| reach.admits(*class)).collect::<Vec<_>>();
        assert_eq!(admitted(Reach::Public), [Public]);
        assert_eq!(admitted(Reach::Loopback), [Loopback]);
        assert_eq!(admitted(Reach::Private), [Public, Loopback, Private, Shared]);
        assert_eq!(admitted(Reach::Inside), [Loopback, Private, Shared]);
        assert_eq!(admitted(Reach::Any), all);
    }
}
