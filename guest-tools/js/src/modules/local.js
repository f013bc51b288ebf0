// Modules in files of the granted directories, as Node finds them.
(function (native, path, requireOf) {
  "use strict";
  const loaded = new Map();

  function isFile(file) {
    return native.exists(file) && native.stat(file).kind === "file";
  }

  // The file of that name, or none.
  function located(name, folder) {
    const whole = path.resolve(folder, name);
    return [whole, `${whole}.js`, `${whole}.json`, `${whole}.cjs`, `${whole}.mjs`, `${whole}/index.js`].find(isFile);
  }

  function run(file, module) {
    const text = native.read(file, true);
    try {
      if (file.endsWith(".json")) {
        module.exports = JSON.parse(text);
        return;
      }
      const folder = path.dirname(file);
      const act = native.compile(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, file);
      act.call(module.exports, module.exports, requireOf(() => folder), module, file, folder);
    } catch (error) {
      // What is said of a line is said of one of this file.
      if (error instanceof SyntaxError && !error.message.startsWith("/")) {
        throw new SyntaxError(`${file}: ${error.message.replace(/ at line (\d+), col (\d+)/, " ($1:$2)")}`);
      }
      throw error;
    }
  }

  function load(name, folder) {
    const file = located(name, folder);
    if (!file) throw Object.assign(new Error(`there is no module \`${name}\` here: no such file`), { code: "MODULE_NOT_FOUND" });
    const known = loaded.get(file);
    if (known) return known.exports;
    const module = { exports: {}, id: file, filename: file };
    // Before it runs: modules that need each other get what is there of the other.
    loaded.set(file, module);
    try {
      run(file, module);
    } catch (error) {
      loaded.delete(file);
      throw error;
    }
    return module.exports;
  }

  return { load, located };
})
