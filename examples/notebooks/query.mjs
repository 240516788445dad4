// Carries out the cells of an SQL notebook with DuckDB, in their order: node query.mjs duckdb.ipynb
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// The module is looked for in NODE_PATH, which import does not know.
const { DuckDBInstance } = createRequire(import.meta.url)("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(":memory:")).connect();
for (const cell of JSON.parse(readFileSync(process.argv[2], "utf8")).cells) {
  if (cell.cell_type !== "code") continue;
  const reader = await connection.runAndReadAll(cell.source.join(""));
  console.log(reader.columnNames().join("\t"));
  for (const row of reader.getRows()) console.log(row.map(String).join("\t"));
}
