import { readFileSync } from 'node:fs';

const PACKAGE = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
const command = PACKAGE.scripts['start:prod']!.split(' ');

describe('The service is started in one way', () => {
  it('by the image as by npm run start:prod', () => {
    const commands = [...readFileSync('Dockerfile', 'utf8').matchAll(/^CMD (\[.*\])$/gm)];
    expect(commands.map(([, list]) => JSON.parse(list!) as string[])).toContainEqual(command);
  });

  it('and by the benchmarks with the same flags', () => {
    const [, flags] = /^const NODE_FLAGS = (\[.*\]);$/m.exec(readFileSync('bench/process.ts', 'utf8'))!;
    expect(JSON.parse(flags!.replaceAll("'", '"'))).toEqual(command.slice(1, -1));
  });
});
