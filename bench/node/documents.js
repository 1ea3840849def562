// Microseconds for each manifest of a file of lines: digest from text, and validation.
"use strict";
const { digest, verdicts, lines } = require("./common");
const texts = lines(process.argv[3]);
const values = texts.map((text) => JSON.parse(text));

function perItem(items, work) {
  work(items[0]);
  for (let warm = 0; warm < 2; warm++) items.forEach(work);
  const start = process.hrtime.bigint();
  items.forEach(work);
  return Number(process.hrtime.bigint() - start) / 1e3 / items.length;
}

const validate = (value) => {
  if (!verdicts[value.kind](value)) throw new Error(JSON.stringify(verdicts[value.kind].errors));
};
console.log(JSON.stringify({ digest: perItem(texts, (text) => digest(JSON.parse(text))), validate: perItem(values, validate) }));
