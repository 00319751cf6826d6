import { readFileSync } from 'node:fs';

/** Ctrl-C under npm arrives twice within milliseconds, from the terminal and from npm; that is not impatience. */
const SAME_KEYSTROKE_MS = 500;

/** How often to look whether npm is still there. */
const LOOK_MS = 500;

export interface Leaving {
  /** Ends what runs, in order, and then this process. */
  readonly stop: () => Promise<void>;
  /** Asked for a second time: ends it now. */
  readonly kill: () => Promise<void>;
}

/**
 * Calls `stop` once, when this process should end: a signal, a closed terminal, or an npm that was killed and would
 * otherwise leave us running where nobody sees us.
 */
export function onTermination({ stop, kill }: Leaving): { readonly begun: boolean } {
  const state = { begun: false };
  let since = 0;
  const leave = () => {
    if (state.begun && Date.now() - since > SAME_KEYSTROKE_MS) void kill();
    if (state.begun) return;
    state.begun = true;
    since = Date.now();
    void stop();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, leave);
  process.stdout.on('error', () => undefined); // the terminal may be gone before we are
  process.stderr.on('error', () => undefined);
  if (process.env['npm_lifecycle_event']) onceOrphaned(leave);
  return state;
}

function onceOrphaned(then: () => void): void {
  const before = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(timer);
    then();
  }, LOOK_MS);
  timer.unref();
}

/** npm starts us through a shell, which some shells replace by us and others keep between us. */
function ancestors(): string {
  try {
    const status = readFileSync(`/proc/${process.ppid}/status`, 'utf8');
    return `${process.ppid} ${/^PPid:.*$/m.exec(status)?.[0]}`;
  } catch {
    return String(process.ppid); // no /proc: macOS, whose shell replaces itself
  }
}
