import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where the packages of Debian, Fedora and Alpine put it. */
const FOLDERS = [...multiarch(), '/usr/lib64/faketime', '/usr/lib/faketime'];
const LIBRARY = FOLDERS.map((folder) => join(folder, 'libfaketime.so.1')).find((path) => existsSync(path));

function multiarch(): string[] {
  const folders = existsSync('/usr/lib') ? readdirSync('/usr/lib') : [];
  return folders.map((folder) => join('/usr/lib', folder, 'faketime'));
}

/** Whether libfaketime is installed (`apt-get install faketime`): without it no clock can be moved. */
export const clocksMove = LIBRARY !== undefined;

/** A wall clock that a test moves while the processes that were started with `env` go by it. Their timers stay true. */
export class MovableClock {
  private readonly folder = mkdtempSync(join(tmpdir(), 'checkout-clock-'));
  private readonly file = join(this.folder, 'offset');

  constructor() {
    chmodSync(this.folder, 0o755); // PostgreSQL may run as another user
    this.set(0);
  }

  get env(): NodeJS.ProcessEnv {
    return {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** @param seconds ahead of the true time, or behind it where negative */
  set(seconds: number): void {
    writeFileSync(this.file, seconds < 0 ? String(seconds) : `+${seconds}`);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
