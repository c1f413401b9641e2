// Says what is wrong in a workflow. Arguments: the module of the linter, the file.

const fs = require('fs');

const [linter, file] = process.argv.slice(2);

require(linter).createLinter().then((lint) => {
    const found = lint(fs.readFileSync(file, 'utf8'), file)
        // Machines have names that are newer than this linter.
        .filter((one) => one.kind !== 'runner-label');
    for (const { line, column, message } of found) {
        console.error(`${file}:${line}:${column}: ${message}`);
    }
    process.exit(found.length === 0 ? 0 : 1);
});
