/** Remembers answers for a while, and never more than so many: the oldest make room. */
export class RecentAnswers<Answer> {
  private readonly answers = new Map<string, { readonly answer: Answer; readonly until: number }>();

  constructor(
    private readonly keptForMs: number,
    private readonly most: number,
  ) {}

  get(name: string): Answer | undefined {
    const found = this.answers.get(name);
    return found && performance.now() < found.until ? found.answer : undefined;
  }

  /** @param since when the answer was true, by `performance.now()` */
  add(name: string, answer: Answer, since: number): void {
    this.answers.delete(name); // a Map keeps its first order: an answer that is new again goes to the end
    this.answers.set(name, { answer, until: since + this.keptForMs });
    if (this.answers.size > this.most) this.answers.delete(this.answers.keys().next().value!);
  }
}
