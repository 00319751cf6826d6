import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type ChannelModel } from 'amqplib';
import { freePort } from './free-port.js';

/** Debian's; its name on the PATH is a wrapper that wants to be root. */
const SERVER = '/usr/lib/rabbitmq/bin/rabbitmq-server';

/** `describe`, or a skipped one that says why. */
export const describeWithRabbit: (name: string, tests: () => void) => void = existsSync(SERVER)
  ? describe
  : (name, tests) => describe.skip(`${name} (no RabbitMQ here: apt-get install rabbitmq-server)`, tests);

export interface RabbitMq {
  readonly url: string;
  readonly port: number;
  /** kill -9: the machine has lost its power. */
  kill(): Promise<void>;
  /** Again, with what it has on disk. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Everything it wrote so far. */
  logs(): Promise<string>;
}

export interface RabbitOptions {
  /** How long a consumer may take to acknowledge before its channel is closed: half an hour, unless this says otherwise. */
  readonly acknowledgeWithinMs?: number;
}

/** A broker of its own: node name, ports, disk and port mapper, so that it meets no other one on the machine. */
export async function startRabbit({
  acknowledgeWithinMs = 1_800_000,
}: RabbitOptions = {}): Promise<RabbitMq> {
  const folder = await mkdtemp(join(tmpdir(), 'rabbitmq-'));
  const [port, distPort, epmdPort] = [await freePort(), await freePort(), await freePort()];
  const env = { ...process.env, ...(await settings(folder, { port, distPort, epmdPort })) };
  await writeFile(join(folder, 'advanced.config'), patience(acknowledgeWithinMs));
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  const mapper = spawn('epmd', ['-port', String(epmdPort), '-address', '127.0.0.1'], {
    env,
    stdio: 'ignore',
  });
  let server: ChildProcess | undefined;

  const start = async () => {
    server = spawn(SERVER, { env, stdio: 'ignore', detached: true }); // a group: the shell and its machine die together
    await untilItAnswers(url, server);
  };
  const kill = async () => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exit = once(server, 'exit');
    process.kill(-server.pid!, 'SIGKILL');
    await exit;
  };
  const killAtExit = () => server && server.exitCode === null && process.kill(-server.pid!, 'SIGKILL');
  process.once('exit', killAtExit);
  await start();
  return {
    url,
    port,
    kill,
    start,
    stop: async () => {
      await kill();
      process.off('exit', killAtExit);
      mapper.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
    logs: () => readFile(join(folder, 'logs', 'log'), 'utf8'),
  };
}

async function settings(
  folder: string,
  { port, distPort, epmdPort }: { port: number; distPort: number; epmdPort: number },
): Promise<NodeJS.ProcessEnv> {
  const [data, logs] = [join(folder, 'data'), join(folder, 'logs')];
  await Promise.all([data, logs].map((path) => mkdir(path)));
  return {
    HOME: folder, // where Erlang keeps its cookie
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `test-${randomBytes(4).toString('hex')}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distPort),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none'),
    RABBITMQ_CONFIG_FILE: join(folder, 'none'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, 'advanced.config'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_MNESIA_BASE: data,
    RABBITMQ_LOG_BASE: logs,
    RABBITMQ_LOGS: join(logs, 'log'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1', // one scheduler: it has nothing to do
  };
}

/** An Erlang term. The broker looks at its channels once a minute unless it is told to do so more often. */
function patience(acknowledgeWithinMs: number): string {
  const tick = Math.min(60_000, acknowledgeWithinMs / 4);
  return `[{rabbit, [{consumer_timeout, ${acknowledgeWithinMs}}, {channel_tick_interval, ${tick}}]}].\n`;
}

async function untilItAnswers(url: string, server: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (server.exitCode !== null) throw new Error(`RabbitMQ ended with ${server.exitCode}`);
    const connection = await connect(url, { timeout: 2_000 }).catch(() => undefined);
    if (connection) return connection.close();
    await sleep(100);
  }
  throw new Error('RabbitMQ does not answer');
}

/** Stands for a consumer: a queue and what is in it. */
export class TestQueue {
  private constructor(
    private readonly url: string,
    readonly name: string,
  ) {}

  /** @param pattern of routing keys, e.g. `order.*` */
  static async bind(url: string, name: string, pattern: string, args: object = {}): Promise<TestQueue> {
    await on(url, async (connection) => {
      const channel = await connection.createChannel();
      await channel.assertExchange('checkout.events', 'topic', { durable: true });
      await channel.assertQueue(name, { durable: true, arguments: args });
    });
    const queue = new TestQueue(url, name);
    await queue.bindTo(pattern);
    return queue;
  }

  bindTo(pattern: string): Promise<void> {
    return on(this.url, async (connection) => {
      await (await connection.createChannel()).bindQueue(this.name, 'checkout.events', pattern);
    });
  }

  /** Takes all that is there, in order. */
  take(): Promise<TakenMessage[]> {
    return on(this.url, async (connection) => {
      const channel = await connection.createChannel();
      const taken: TakenMessage[] = [];
      for (;;) {
        const message = await channel.get(this.name, { noAck: true });
        if (!message) return taken;
        const { properties, fields, content } = message;
        taken.push({ properties, routingKey: fields.routingKey, body: JSON.parse(content.toString()) });
      }
    });
  }

  delete(): Promise<void> {
    return on(this.url, async (connection) => {
      await (await connection.createChannel()).deleteQueue(this.name);
    });
  }
}

export interface TakenMessage {
  readonly properties: Record<string, any>;
  readonly routingKey: string;
  readonly body: any;
}

async function on<Result>(url: string, work: (connection: ChannelModel) => Promise<Result>): Promise<Result> {
  const connection = await connect(url);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
