import { getMetadataStorage } from 'class-validator';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { loadConfig, type Config } from '../../src/config/config.js';
import { Environment } from '../../src/config/environment.js';
import { isHealthProbe } from '../../src/http/probes.js';

const FOLDER = 'deploy/kubernetes';

/** What a person fills in. */
const SECRETS = {
  DATABASE_URL: 'postgres://user:of-our-own@one:5432,two:5432/checkout',
  STRIPE_API_KEY: 'sk_live_1',
  STRIPE_WEBHOOK_SECRETS: 'whsec_of_our_own',
  SMTP_URL: 'smtps://mail.example',
  HASH_SECRET: 'a secret of more than thirty-two characters',
  OPERATOR_TOKENS: 'op_of_ada_0123456',
  METRICS_TOKEN: 'a-token-for-metrics',
};

/** What a process has after the time of its requests is over: see `shutDownGracefully`. */
const FAREWELL_SECONDS = 5;

const documents: any[] = readdirSync(FOLDER).flatMap((file) =>
  parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as unknown;
  }),
);
const ofKind = (kind: string) => documents.filter((document) => document.kind === kind);
const [config] = ofKind('ConfigMap');
const [secret, owner] = ofKind('Secret');
const [job] = ofKind('Job');
const deployments = ofKind('Deployment').map((deployment) => [deployment.metadata.name, deployment] as const);
const podOf = (workload: any) => workload.spec.template.spec;
const containerOf = (workload: any) => podOf(workload).containers[0];
const isPartOf = (selector: object, { spec }: any) =>
  Object.entries(selector).every(([label, value]) => spec.template.metadata.labels[label] === value);

/** As the process would read what Kubernetes tells it. */
function configOf(workload: any): Config {
  const own = (containerOf(workload).env ?? []).map(({ name, value }: any) => [name, value]);
  return loadConfig({ ...config.data, ...SECRETS, ...Object.fromEntries(own) });
}

describe('The manifests for Kubernetes', () => {
  it('set what the service knows, and leave every secret to be filled in', () => {
    const known = new Set(
      getMetadataStorage()
        .getTargetValidationMetadatas(Environment, '', false, false)
        .map(({ propertyName }) => propertyName),
    );
    const own = deployments.flatMap(([, each]) => containerOf(each).env.map(({ name }: any) => name));
    const set = [...Object.keys(config.data), ...Object.keys(secret.stringData), ...own];
    expect(set.filter((name) => !known.has(name))).toEqual([]);
    expect(Object.keys(secret.stringData)).toEqual(Object.keys(SECRETS));
    expect(Object.values(secret.stringData).filter(Boolean)).toEqual([]);
    expect(() => loadConfig({ ...config.data, ...secret.stringData })).toThrow('HASH_SECRET');
  });

  it('are an API and a worker, each more than once', () => {
    expect(deployments.map(([, each]) => configOf(each).role)).toEqual(['api', 'worker']);
    for (const [, each] of deployments) expect(each.spec.replicas).toBeGreaterThan(1);
  });

  it.each(deployments)('give a process the time that its requests may take: %s', (_name, deployment) => {
    const { production, timings } = configOf(deployment);
    const { terminationGracePeriodSeconds } = podOf(deployment);
    const pause = Number(containerOf(deployment).lifecycle?.preStop.exec.command[1] ?? 0);
    expect(production).toBe(true);
    expect(terminationGracePeriodSeconds).toBeGreaterThan(pause + timings.requestDeadline + FAREWELL_SECONDS);
  });

  it.each(deployments)('ask where the process answers: %s', (name, deployment) => {
    const { ports, livenessProbe, readinessProbe, startupProbe } = containerOf(deployment);
    const { role, port, workerPort } = configOf(deployment);
    expect(ports).toEqual([{ name: 'http', containerPort: role === 'api' ? port : workerPort }]);
    for (const { httpGet } of [livenessProbe, readinessProbe, startupProbe]) {
      expect(httpGet.port).toBe('http');
      expect(isHealthProbe(httpGet.path)).toBe(true);
    }
    expect(livenessProbe.httpGet.path).toBe('/health/live');
    expect(readinessProbe.httpGet.path).toBe('/health/ready');
    expect(isPartOf(deployment.spec.selector.matchLabels, deployment)).toBe(true);
    const budgets = ofKind('PodDisruptionBudget').filter(({ spec }) =>
      isPartOf(spec.selector.matchLabels, deployment),
    );
    expect(budgets.map(({ metadata }) => metadata.name)).toEqual([name]);
  });

  it('send requests to the API alone', () => {
    const [service] = ofKind('Service');
    const reached = deployments.filter(([, each]) => isPartOf(service.spec.selector, each));
    expect(reached.map(([, each]) => configOf(each).role)).toEqual(['api']);
    expect(service.spec.ports).toEqual([expect.objectContaining({ targetPort: 'http' })]);
  });

  it('migrate by the program that is built, with the patience that it has', () => {
    const [program, script] = containerOf(job).command as [string, string];
    expect(program).toBe('node');
    expect(existsSync(script.replace(/^dist/, '.').replace(/js$/, 'ts'))).toBe(true);
    expect(podOf(job).restartPolicy).toBe('Never');
    expect(owner.stringData).toEqual({ DATABASE_URL: '', DATABASE_APP_URL: '' }); // all that it knows beside the settings
    expect(job.spec.activeDeadlineSeconds).toBeUndefined();
  });

  it('run one image, of this version, as nobody in particular and with nothing to write to', () => {
    const { name, version } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, string>;
    for (const workload of [job, ...deployments.map(([, each]) => each)]) {
      const { image, envFrom, securityContext } = containerOf(workload);
      expect(image).toBe(`registry.example/${name}:${version}`);
      expect(envFrom).toEqual([
        { configMapRef: { name: config.metadata.name } },
        { secretRef: { name: (workload === job ? owner : secret).metadata.name } },
      ]);
      expect(podOf(workload).securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });
});
