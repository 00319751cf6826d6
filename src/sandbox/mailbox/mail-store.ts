import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mail } from './mail.js';

/** The mails received, oldest first; with a folder they outlive the process. */
export class MailStore {
  private constructor(
    private readonly mails: Mail[],
    private readonly file: string | undefined,
  ) {}

  static async open(folder: string | undefined): Promise<MailStore> {
    if (!folder) return new MailStore([], undefined);
    await mkdir(folder, { recursive: true });
    const file = join(folder, 'messages.jsonl');
    const lines = await readFile(file, 'utf8').catch(() => '');
    const mails = lines.split('\n').flatMap(parse);
    await writeFile(file, mails.map(lineOf).join('')); // without the line that a kill cut short
    return new MailStore(mails, file);
  }

  get all(): readonly Mail[] {
    return this.mails;
  }

  /** Resolves once the mail is kept; only then may its sender be told so. */
  async add(mail: Mail): Promise<void> {
    if (this.file) await appendFile(this.file, lineOf(mail), { flush: true });
    this.mails.push(mail);
  }

  async clear(): Promise<void> {
    this.mails.length = 0;
    if (this.file) await writeFile(this.file, '');
  }
}

function lineOf(mail: Mail): string {
  return `${JSON.stringify(mail)}\n`;
}

function parse(line: string): Mail[] {
  try {
    return [JSON.parse(line) as Mail];
  } catch {
    return [];
  }
}
