import { closeSync, existsSync, mkdirSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * An append-only file of JSON lines. A line is with the operating system before `append` returns, so it outlives a
 * killed process; it is not forced to the disk, as the sandbox need not outlive a power cut.
 */
export class Journal<Line> {
  private readonly file?: number;

  /** @param path without one, nothing is kept */
  constructor(private readonly path?: string) {
    if (path === undefined) return;
    mkdirSync(dirname(path), { recursive: true });
    this.dropTornLine(path);
    this.file = openSync(path, 'a');
  }

  read(): Line[] {
    if (this.path === undefined) return [];
    const lines = readFileSync(this.path, 'utf8').split('\n');
    return lines.filter(Boolean).map((line) => JSON.parse(line) as Line);
  }

  append(line: Line): void {
    if (this.file !== undefined) writeSync(this.file, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    if (this.file !== undefined) closeSync(this.file);
  }

  /** A process killed in the middle of a write leaves half a line; its answer was never sent. */
  private dropTornLine(path: string): void {
    if (!existsSync(path)) return;
    const bytes = readFileSync(path);
    truncateSync(path, bytes.lastIndexOf(0x0a) + 1);
  }
}
