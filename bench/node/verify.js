// Every line of an export: decompress (node 20 has no zstd of its own), parse, validate, digest, compare with the columns.
"use strict";
const { digest, verdicts } = require("./common");
const { execFileSync } = require("child_process");
const COLUMNS = {
  OperationSpec: "semanticDigest", WorkloadCase: "workloadDigest", WorkloadSuite: "workloadDigest",
  ImplementationRevision: "implementationDigest", BenchmarkProtocol: "protocolDigest",
  ExecutionEnvironment: "environmentDigest", BenchmarkRun: "runDigest",
};
const text = execFileSync("zstd", ["-dc", process.argv[3]], { maxBuffer: 2 ** 30, encoding: "utf8" });
let bad = 0;
for (const line of text.split("\n")) {
  if (!line) continue;
  const row = JSON.parse(line).row;
  const manifest = row.manifest;
  if (!manifest) continue;
  for (const each of manifest.kind ? [manifest] : Object.values(manifest)) {
    const claimed = row[COLUMNS[each.kind]];
    const computed = digest(each);
    if (!verdicts[each.kind](each) || (claimed !== undefined && claimed !== computed)) bad++;
  }
}
process.exit(bad ? 1 : 0);
