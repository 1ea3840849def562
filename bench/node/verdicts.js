// For each line {kind, document}: whether the document is valid.
"use strict";
const { verdicts, lines } = require("./common");
const found = lines(process.argv[3]).map((line) => JSON.parse(line)).map(({ kind, document }) => verdicts[kind](document));
console.log(JSON.stringify(found));
