import { connect } from 'node:net';

export interface WireAnswer {
  readonly status: number;
  /** By lower-case name; a name that comes twice keeps its last. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How long a server may say nothing to a whole request. Half of one is given up by its sender sooner. */
const LONGEST_MS = 8_000;

/** The client says that no more will come: whoever waits for the rest of a request need not. */
const SILENT_MS = 150;

/**
 * Sends bytes, whatever they are, and reads what comes until the server closes. A request that does not ask it to, or that
 * is no whole request, is ended by the client once nothing has come for a moment.
 * @throws where the server neither answers nor closes
 */
export async function exchange(url: string, bytes: Buffer, head = false): Promise<WireAnswer[]> {
  return answersIn(await sent(url, bytes), head);
}

function sent(url: string, bytes: Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const received: Buffer[] = [];
    const tooLong = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer within ${LONGEST_MS} ms`));
    }, LONGEST_MS);
    let silent = setTimeout(() => socket.end(), LONGEST_MS);
    socket.on('data', (chunk) => {
      received.push(chunk);
      clearTimeout(silent);
      silent = setTimeout(() => socket.end(), SILENT_MS);
    });
    socket.on('end', () => socket.end());
    socket.on('error', () => undefined); // a server that has answered need not read the rest
    socket.on('close', () => {
      clearTimeout(tooLong);
      clearTimeout(silent);
      resolve(Buffer.concat(received));
    });
    socket.write(bytes, () => {
      clearTimeout(silent);
      silent = setTimeout(() => socket.end(), isWhole(bytes) ? LONGEST_MS : SILENT_MS);
    });
  });
}

/** Cut off in its head, or in its body by its own account. */
function isWhole(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, end + 2))?.[1];
  return bytes.length - end - 4 >= Number(length ?? 0) && !/\r\ntransfer-encoding/i.test(text.slice(0, end));
}

/** @param head the answer is to HEAD, whose lengths are of what is not sent */
function answersIn(bytes: Buffer, head: boolean): WireAnswer[] {
  const answers: WireAnswer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) throw new Error(`half an answer: ${bytes.toString('latin1', at, at + 200)}`);
    const [line = '', ...lines] = bytes.toString('latin1', at, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    if (!status) throw new Error(`no answer: ${line.slice(0, 200)}`);
    const headers = Object.fromEntries(lines.map(headerIn));
    const length = head || status < 200 || status === 204 ? 0 : Number(headers['content-length']);
    if (Number.isNaN(length)) throw new Error(`no length: ${line}`);
    at = end + 4 + length;
    if (status >= 200) answers.push({ status, headers, body: bytes.toString('utf8', end + 4, at) });
  }
  return answers;
}

function headerIn(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
