import { once } from 'node:events';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOST } from '../settings.js';
import type { SupervisedProcess } from '../supervised-process.js';
import type { Happening } from './events.js';
import { History } from './history.js';
import { answers, Live } from './live.js';
import { MailboxControl } from './mailbox-control.js';
import { ProviderControl } from './provider-control.js';
import { Runs } from './runs.js';
import { labServer } from './server.js';

export interface LabSettings {
  readonly port: number;
  readonly databaseUrl: string;
  readonly urls: Readonly<Record<'api' | 'worker' | 'provider' | 'mailbox', string>>;
  readonly processes: Readonly<Record<'api' | 'worker', SupervisedProcess>>;
}

/** A crash before this run may have left the service on its way back. */
const READY_WITHIN_MS = 15_000;

/** A page on which a person breaks a checkout on purpose, and sees what the service makes of it. */
export class Lab {
  private readonly history: History;
  private readonly runs: Runs;
  private server?: Server;

  constructor(private readonly settings: LabSettings) {
    const { urls, databaseUrl, processes } = settings;
    this.history = new History(databaseUrl);
    this.runs = new Runs({
      api: urls.api,
      history: this.history,
      provider: new ProviderControl(urls.provider),
      mailbox: new MailboxControl(urls.mailbox),
      ready: () => this.untilReady(),
    });
    for (const name of ['api', 'worker'] as const) this.follow(name, processes[name]);
  }

  async start(): Promise<void> {
    const { port, urls } = this.settings;
    const live = new Live({
      urls,
      history: this.history,
      mailbox: new MailboxControl(urls.mailbox),
      busy: () => {
        const { current } = this.runs;
        return current ? { run: current.id, title: current.scenario.title } : null;
      },
    });
    this.server = await labServer(this.runs, live, port);
    this.server.listen(port, HOST);
    await once(this.server, 'listening');
  }

  async stop(): Promise<void> {
    this.server?.close();
    this.server?.closeAllConnections();
    await this.history.close();
  }

  private follow(name: 'api' | 'worker', { life }: SupervisedProcess): void {
    const see = (happening: Omit<Happening, 'at' | 'from'>) =>
      this.runs.current?.observe({ ...happening, from: name, at: Date.now() });
    life.on('ended', (cause) => see(died(name, cause)));
    life.on('back', () => see(BACK));
  }

  private async untilReady(): Promise<void> {
    const { urls } = this.settings;
    const until = Date.now() + READY_WITHIN_MS;
    const ready = async () =>
      (await Promise.all([urls.api, urls.worker].map((url) => answers(`${url}/health/ready`)))).every(
        Boolean,
      );
    while (!(await ready())) {
      if (Date.now() > until) throw new Error('the service is down');
      await sleep(100);
    }
  }
}

function died(name: string, cause: string): Omit<Happening, 'at' | 'from'> {
  const text = `The ${name} process is gone${cause === 'SIGKILL' ? ', as with kill -9' : ` (${cause})`}. What it knew and had not committed is lost.`;
  return { kind: 'death', title: 'process killed', text, tone: 'bad' };
}

const BACK = {
  kind: 'back',
  title: 'process is back',
  text: 'The supervisor has started it again. It remembers nothing; everything that counts is in the database.',
} as const;
