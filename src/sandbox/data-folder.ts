import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Refusal } from './refusal.js';

/** Says that the folder is ours to write to, and whether a run is on (or was killed before it could say so). */
const MARKER = 'sandbox.json';

export interface DataFolder {
  readonly path: string;
  /** The last run did not come to its end: some of its processes may still be on their way out. */
  readonly wasKilled: boolean;
  markRunning(running: boolean): Promise<void>;
}

/** Opens the folder, or makes it. Never writes into one that holds something else. @throws Refusal */
export async function openDataFolder(path: string): Promise<DataFolder> {
  try {
    await makeFolder(path);
    const wasKilled = await readMarker(path);
    await writeMarker(path, wasKilled); // also shows that it can be written to
    return { path, wasKilled, markRunning: (running) => writeMarker(path, running) };
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Refusal(
      `DATA_DIR=${path} cannot be used (${code ?? message}): set DATA_DIR to a folder you can write to.`,
    );
  }
}

/** Not `recursive`: where the system answers ENOENT for good, as in /proc, Node 20 then tries for ever. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT') throw error;
    await makeFolder(dirname(path));
    await mkdir(path);
  }
}

async function readMarker(path: string): Promise<boolean> {
  const entries = await readdir(path);
  if (entries.includes(MARKER)) {
    const text = await readFile(join(path, MARKER), 'utf8');
    return text.includes('"running":true');
  }
  const foreign = entries.find((entry) => !entry.startsWith('.'));
  if (foreign === undefined) return false;
  throw new Refusal(
    `DATA_DIR=${path} holds files that are not the sandbox's (${foreign}): set DATA_DIR to an empty or a new folder.`,
  );
}

async function writeMarker(path: string, running: boolean): Promise<void> {
  await writeFile(join(path, MARKER), JSON.stringify({ running }));
}
