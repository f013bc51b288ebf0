//! What the interpreter does otherwise than `jq`, changed in the filter before it is compiled.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};

type Filter<'a> = Term<&'a str>;

/// The same filter, with the names of [`super::own`] where the two differ: definitions look at the depth of the stack
/// first, quotients that are whole are whole numbers, remainders are those of whole numbers, and interpolated numbers are
/// written as the output has them.
pub fn rewrite<'a>(term: Filter<'a>) -> Filter<'a> {
    let boxed = |term: Box<Filter<'a>>| Box::new(rewrite(*term));
    match term {
        Term::Str(format, parts) => {
            let parts: Vec<_> = parts.into_iter().map(part).collect();
            let inner = parts.iter().any(|part| matches!(part, StrPart::Term(_)));
            Term::Str(format.or(inner.then_some("@text")), parts)
        }
        Term::Arr(inner) => Term::Arr(inner.map(boxed)),
        Term::Obj(members) => {
            Term::Obj(members.into_iter().map(|(key, value)| (rewrite(key), value.map(rewrite))).collect())
        }
        Term::Neg(inner) => Term::Neg(boxed(inner)),
        Term::BinOp(left, operator, right) => binary(rewrite(*left), operator, rewrite(*right)),
        Term::Label(name, inner) => Term::Label(name, boxed(inner)),
        Term::Fold(name, from, pattern, steps) => {
            Term::Fold(name, boxed(from), self::pattern(pattern), steps.into_iter().map(rewrite).collect())
        }
        Term::TryCatch(inner, catch) => Term::TryCatch(boxed(inner), catch.map(boxed)),
        Term::IfThenElse(branches, otherwise) => Term::IfThenElse(
            branches.into_iter().map(|(one, other)| (rewrite(one), rewrite(other))).collect(),
            otherwise.map(boxed),
        ),
        Term::Def(definitions, inner) => {
            Term::Def(definitions.into_iter().map(definition).collect(), boxed(inner))
        }
        Term::Call(name, arguments) => Term::Call(name, arguments.into_iter().map(rewrite).collect()),
        Term::Path(inner, path) => Term::Path(boxed(inner), self::path(path)),
        other => other,
    }
}

fn call<'a>(name: &'a str) -> Box<Filter<'a>> {
    Box::new(Term::Call(name, Vec::new()))
}

fn then<'a>(term: Filter<'a>, name: &'a str) -> Filter<'a> {
    Term::BinOp(Box::new(term), BinaryOp::Pipe(None), call(name))
}

fn binary<'a>(left: Filter<'a>, operator: BinaryOp<&'a str>, right: Filter<'a>) -> Filter<'a> {
    let join = |left, operator, right| Term::BinOp(Box::new(left), operator, Box::new(right));
    match operator {
        BinaryOp::Math(Math::Div) => then(join(left, operator, right), "whole_quotient"),
        BinaryOp::Math(Math::Rem) => join(then(left, "whole_part"), operator, then(right, "whole_part")),
        BinaryOp::Pipe(Some(bound)) => join(left, BinaryOp::Pipe(Some(pattern(bound))), right),
        operator => join(left, operator, right),
    }
}

fn part<'a>(part: StrPart<&'a str, Filter<'a>>) -> StrPart<&'a str, Filter<'a>> {
    match part {
        StrPart::Term(term) => StrPart::Term(rewrite(term)),
        other => other,
    }
}

fn pattern(pattern: Pattern<&str>) -> Pattern<&str> {
    match pattern {
        Pattern::Arr(items) => Pattern::Arr(items.into_iter().map(self::pattern).collect()),
        Pattern::Obj(members) => Pattern::Obj(
            members.into_iter().map(|(key, value)| (rewrite(key), self::pattern(value))).collect(),
        ),
        variable => variable,
    }
}

fn path<'a>(Path(parts): Path<Filter<'a>>) -> Path<Filter<'a>> {
    let change = |part| match part {
        Part::Index(index) => Part::Index(rewrite(index)),
        Part::Range(from, to) => Part::Range(from.map(rewrite), to.map(rewrite)),
    };
    Path(parts.into_iter().map(|(part, optional)| (change(part), optional)).collect())
}

fn definition(definition: Def<&str>) -> Def<&str> {
    let Def { name, args, body } = definition;
    let body = Term::BinOp(call("stack_depth"), BinaryOp::Pipe(None), Box::new(rewrite(body)));
    Def { name, args, body }
}
