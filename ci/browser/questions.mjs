// Copies questions and makes the first one hostile.
import { readFileSync, writeFileSync } from "node:fs";
const lines = readFileSync(process.argv[2], "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
lines[0].question += " <script>window.hacked = 3</script><b onclick=alert(1)>bold</b> \u202Ereversed \u001b[1m" +
  "\u0634\u062d\u0646 " + "long ".repeat(5000);
writeFileSync(process.argv[3], lines.map((line) => JSON.stringify(line)).join("\n") + "\n");
