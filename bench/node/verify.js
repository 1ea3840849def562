// Every line of an export: decompress, parse, validate, digest, compare with the columns.
"use strict";
const { fs, digest, load, verdicts } = require("./common");
const COLUMNS = {
  OperationSpec: "semanticDigest", WorkloadCase: "workloadDigest", WorkloadSuite: "workloadDigest",
  ImplementationRevision: "implementationDigest", BenchmarkProtocol: "protocolDigest",
  ExecutionEnvironment: "environmentDigest", BenchmarkRun: "runDigest",
  SoftwareProject: "projectDigest", ModelRevision: "modelDigest", ServingStackRevision: "stackDigest",
  ServingConfiguration: "configurationDigest", ServingWorkload: "workloadDigest", ServingRun: "runDigest",
};
const text = Buffer.from(load("fzstd").decompress(fs.readFileSync(process.argv[3]))).toString("utf8");
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
