import { spawn } from "node:child_process";

/**
 * Opens a page in the user's browser: with the program in BROWSER, or that of the system. Without
 * a browser, users open the address that is printed.
 */
export async function browse(address: string): Promise<void> {
  // An address that a server sends must not name a file or a program.
  if (!/^https?:$/.test(URL.parse(address)?.protocol ?? "")) return;
  const program = process.env.BROWSER || (process.platform === "darwin" ? "open" : "xdg-open");
  const child = spawn(program, [address], { detached: true, stdio: "ignore" });
  await new Promise<void>((resolve) => {
    child.once("spawn", resolve);
    child.once("error", () => resolve());
  });
  child.unref();
}
