/** @param root of a plan in JSON, VERBOSE, made with every tenant's table partitioned by `partition` */
export function judge(root: object): {
  /** The tenants' tables that were met. */
  readonly tables: ReadonlySet<string>;
  /** Why that was not in one shard alone. */
  readonly reason?: string;
};
