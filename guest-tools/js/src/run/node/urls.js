const seen = [];
for (const query of ["", "?", "a=1", "?a=1&b=2&a=3", "a", "=x", "a==b", "&&a=1&", "a+b=c+d", "a%20b=%41%zz%4", "%F0%9F%98%80=%ff", "x=é&y=%C3%A9", "a=~!'()*-._"]) {
  const p = new URLSearchParams(query);
  seen.push([[...p], String(p), p.size, p.get("a"), p.getAll("a"), p.has("a"), p.has("a", "3"), [...p.keys()], [...p.values()]]);
}
const p = new URLSearchParams({ z: 1, a: "b c", m: "" });
p.append("a", 2); p.set("z", "y"); p.sort(); p.delete("m");
seen.push(String(p)); p.set("a", "only"); p.set("new", null); seen.push(String(p)); p.append("a", "x"); p.delete("a", "only"); seen.push(String(p));
const visited = []; p.forEach((value, name, all) => visited.push([name, value, all === p])); seen.push(visited);
seen.push([...new URLSearchParams([["k", "v"], ["k", "w"]])], [...new URLSearchParams(new Map([["m", "n"]]))], [...new URLSearchParams(p)], Object.prototype.toString.call(p));
for (const wrong of [[["a"]], [["a", "b", "c"]]]) try { new URLSearchParams(wrong); seen.push("taken"); } catch (error) { seen.push(error instanceof TypeError); }
const u = new URL("https://a.b/c?x=1&y=2#h");
seen.push(u.searchParams.get("y"), u.searchParams === u.searchParams);
u.searchParams.set("x", "a b&c"); u.searchParams.append("q", "é"); seen.push(u.href);
u.search = "?z=3"; seen.push([...u.searchParams]); u.searchParams.delete("z"); seen.push(u.href);
seen.push(require("url").fileURLToPath("file:///a%20b/c"), require("url").URLSearchParams === URLSearchParams);
seen
