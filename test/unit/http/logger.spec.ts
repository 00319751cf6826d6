import { pino } from 'pino';
import { createLogger, NestLogger } from '../../../src/http/logger.js';

/** What one call of Nest's logger writes, beside level and time. */
function written(log: (logger: NestLogger) => void): Record<string, unknown> {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  log(new NestLogger(pino({ base: null, timestamp: false }, stream)));
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0]!) as Record<string, unknown>;
}

describe('A line of the log', () => {
  it('keeps every member of what was logged as an object', () => {
    const line = written((logger) =>
      logger.warn({ msg: 'attempt ended early', keyId: 'idem_1', reason: 'unknown' }, 'OperationRunner'),
    );
    expect(line).toEqual({
      level: 40,
      context: 'OperationRunner',
      msg: 'attempt ended early',
      keyId: 'idem_1',
      reason: 'unknown',
    });
  });

  it('says what an error among the members was', () => {
    const line = written((logger) => logger.error({ msg: 'not applied', err: new Error('no') }, 'Inbox'));
    expect(line).toMatchObject({ msg: 'not applied', err: { message: 'no' } });
  });

  it('names no address', () => {
    const line = written((logger) => logger.log('550 <ada@example.com> is unknown', 'Relay'));
    expect(line).toMatchObject({ msg: '550 <[address]> is unknown' });
  });

  it.each(['req', 'request', 'res', 'response', 'call'])(
    'tells no secret of the headers of %s, nor of headers alone',
    (place) => {
      const lines: string[] = [];
      const logger = createLogger(
        { logLevel: 'info', role: 'api' },
        { write: (line) => void lines.push(line) },
      );
      const headers = {
        authorization: 'Bearer s3cret',
        cookie: 's3cret',
        'idempotency-key': 's3cret',
        host: 'shop',
      };
      logger.info({ headers, [place]: { method: 'POST', headers: { ...headers, 'set-cookie': 's3cret' } } });
      expect(lines.join()).not.toContain('s3cret');
      expect(JSON.parse(lines[0]!)).toMatchObject({
        headers: { host: 'shop' },
        [place]: { headers: { host: 'shop' } },
      });
    },
  );
});
