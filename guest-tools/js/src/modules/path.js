// Paths of text, as Node's `path` on Unix has them.
(function (cwd) {
  "use strict";

  function text(path) {
    if (typeof path === "string") return path;
    throw new TypeError(`path: a path is a string, and this is ${path === null ? "null" : typeof path}`);
  }

  // The names of a path, without empty ones, `.` and what `..` leaves.
  function names(path, isAbsolute) {
    const kept = [];
    for (const name of path.split("/")) {
      if (name === "" || name === ".") continue;
      if (name !== "..") kept.push(name);
      else if (kept.length > 0 && kept.at(-1) !== "..") kept.pop();
      else if (!isAbsolute) kept.push(name);
    }
    return kept;
  }

  const isAbsolute = (path) => text(path).startsWith("/");

  function normalize(path) {
    const kept = names(text(path), isAbsolute(path)).join("/");
    const end = path.endsWith("/") ? "/" : "";
    if (isAbsolute(path)) return kept ? `/${kept}${end}` : "/";
    return `${kept || "."}${end}`;
  }

  function join(...paths) {
    return normalize(paths.filter((path) => text(path) !== "").join("/"));
  }

  function resolve(...paths) {
    let whole = "";
    for (const path of [cwd(), ...paths]) whole = isAbsolute(path) ? path : `${whole}/${path}`;
    return `/${names(whole, true).join("/")}`;
  }

  function relative(from, to) {
    const [start, end] = [resolve(text(from)), resolve(text(to))].map((path) => names(path, true));
    let same = 0;
    while (same < start.length && same < end.length && start[same] === end[same]) same += 1;
    return [...start.slice(same).map(() => ".."), ...end.slice(same)].join("/");
  }

  const trimmed = (path) => text(path).replace(/(?<=[^/])\/+$/, "");

  function dirname(path) {
    const whole = trimmed(path);
    const at = whole.lastIndexOf("/");
    if (at < 0) return ".";
    return whole.slice(0, at) || "/";
  }

  function basename(path, suffix = "") {
    if (suffix !== "" && suffix === path) return "";
    const name = trimmed(path).replace(/^.*\//s, "");
    return name !== suffix && name.endsWith(suffix) ? name.slice(0, name.length - text(suffix).length) : name;
  }

  function extname(path) {
    const name = basename(path);
    const at = name.lastIndexOf(".");
    return at > 0 && name !== ".." ? name.slice(at) : "";
  }

  function parse(path) {
    const [base, ext] = [basename(path), extname(path)];
    const dir = trimmed(path).includes("/") ? dirname(path) : "";
    return { root: isAbsolute(path) ? "/" : "", dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
  }

  function format({ dir, root = "", base, name = "", ext = "" }) {
    const file = base ?? `${name}${ext && !ext.startsWith(".") ? "." : ""}${ext}`;
    if (!dir) return `${root}${file}`;
    return dir === root ? `${dir}${file}` : `${dir}/${file}`;
  }

  const path = { sep: "/", delimiter: ":", isAbsolute, normalize, join, resolve, relative, dirname, basename, extname, parse, format };
  path.posix = path;
  return path;
})
