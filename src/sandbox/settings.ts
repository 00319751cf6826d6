import { resolve } from 'node:path';
import { Refusal } from './refusal.js';

/** Only this machine may reach the sandbox: its keys are published and its faults can crash it. */
export const HOST = '127.0.0.1';

/** Every port the sandbox listens on, with the one it takes when nothing is said. */
const DEFAULT_PORTS = {
  PORT: 3000,
  WORKER_PORT: 3001,
  PROVIDER_PORT: 4242,
  SMTP_PORT: 1025,
  MAILBOX_PORT: 1080,
  LAB_PORT: 4000,
  POSTGRES_PORT: 5433, // next to 5432, where a PostgreSQL of the machine's own would be
};

export type PortName = keyof typeof DEFAULT_PORTS;
export type Ports = Readonly<Record<PortName, number>>;

export interface SandboxSettings {
  readonly ports: Ports;
  readonly dataDir: string;
  /** A PostgreSQL of one's own, in place of the embedded one. */
  readonly databaseUrl?: string;
  /** What the caller's environment says; its settings win over the sandbox's defaults. */
  readonly env: NodeJS.ProcessEnv;
}

/** @throws Refusal */
export function readSettings(env: NodeJS.ProcessEnv): SandboxSettings {
  return {
    ports: readPorts(env),
    dataDir: resolve(env['DATA_DIR'] || '.data'),
    ...(env['DATABASE_URL'] ? { databaseUrl: env['DATABASE_URL'] } : {}),
    env,
  };
}

function readPorts(env: NodeJS.ProcessEnv): Ports {
  const defaults = { ...DEFAULT_PORTS, WORKER_PORT: readPort(env, 'PORT', DEFAULT_PORTS.PORT) + 1 };
  const names = Object.keys(defaults) as PortName[];
  const ports = Object.fromEntries(names.map((name) => [name, readPort(env, name, defaults[name])])) as Ports;
  refuseSharedPorts(ports);
  return ports;
}

function readPort(env: NodeJS.ProcessEnv, name: PortName, fallback: number): number {
  const port = Number(env[name] || fallback);
  if (Number.isInteger(port) && port > 0 && port < 65536) return port;
  throw new Refusal(`${name}=${env[name] ?? port} is not a port: set ${name} to a number from 1 to 65535.`);
}

function refuseSharedPorts(ports: Ports): void {
  const owners = new Map<number, string>();
  for (const [name, port] of Object.entries(ports)) {
    const other = owners.get(port);
    if (other) throw new Refusal(`${other} and ${name} are both ${port}: set ${name} to another port.`);
    owners.set(port, name);
  }
}
