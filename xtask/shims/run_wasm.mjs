// Runs the WebAssembly program that is named as argument, as cargo's runner; ends as
// the program does. Without WASI a program cannot say anything: a panic is a trap.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const program = await WebAssembly.compile(await readFile(process.argv[2]));
if (WebAssembly.Module.imports(program).length > 0) {
  const wasi = new WASI({ version: "preview1" });
  wasi.start(await WebAssembly.instantiate(program, wasi.getImportObject()));
} else {
  const { exports } = await WebAssembly.instantiate(program, {});
  process.exitCode = exports.main(0, 0);
}
