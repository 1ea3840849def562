// The packages from the folder that the first argument names, and our schemas compiled once.
"use strict";
const fs = require("fs");
const path = require("path");
const crypto = require("crypto");

const modules = process.argv[2];
const load = (name) => require(path.join(modules, name));
const Ajv = load("ajv/dist/2020").default;
const addFormats = load("ajv-formats");
let canonicalize = load("canonicalize");
canonicalize = canonicalize.default || canonicalize;

const folder = path.join(__dirname, "../../schemas");
const ajv = addFormats(new Ajv({ strict: false, allErrors: false }));
const kinds = [];
for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  ajv.addSchema(JSON.parse(fs.readFileSync(path.join(folder, file), "utf8")));
  kinds.push(file.slice(0, -5));
}
const verdicts = {};
for (const kind of kinds) if (kind !== "common") verdicts[kind] = ajv.getSchema("urn:kictl:schema:" + kind);

function digest(manifest) {
  const { apiVersion, kind, spec } = manifest;
  return "sha256:" + crypto.createHash("sha256").update(canonicalize({ apiVersion, kind, spec })).digest("hex");
}

module.exports = { fs, load, digest, verdicts, lines: (file) => fs.readFileSync(file, "utf8").split("\n").filter(Boolean) };
