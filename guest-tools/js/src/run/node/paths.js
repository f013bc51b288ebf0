const path = require("path");
const all = ["", ".", "..", "/", "//", "a", "a/", "a/b", "a//b", "/a", "/a/", "/a/b.c", "a/..", "a/../", "./", "./a", "../a", "../../a/b", "/../a", "a/./b/../c", ".bashrc", "a.b.c", "a.", "a/.x", "a/b.tar.gz", "..a", "a..", "/a//b//"];
const one = all.map((p) => [path.normalize(p), path.dirname(p), path.basename(p), path.extname(p), path.isAbsolute(p), Object.values(path.parse(p)).join("|"), path.format(path.parse(p)), path.resolve("/w", p)]);
const two = all.flatMap((p) => ["", "..", "b", "/c", ".c"].map((q) => [path.join(p, q), path.resolve("/w", p, q), path.relative("/w/" + p, "/w/" + q)]));
const ends = [["a/b.c", ".c"], ["b", "b"], ["x/b", "b"], ["a.c.c", ".c"], ["ab", "b"], ["ab/", "b"], ["ab", ""]].map(([p, q]) => path.basename(p, q));
const names = [path.sep, path.delimiter, path.posix === path, path.join("a", "b", "../c", "d.txt"), path.format({ name: "a", ext: "b" })];
[one, two, ends, names]
