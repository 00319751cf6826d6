/**
 * The role that the service runs as in tests, as in production: it owns nothing, so row security holds for it. On a Citus
 * cluster, whose servers do not hear which tenant a transaction names, it is the owner.
 */
export function asService(url) {
  if (process.env.TEST_CLUSTER_URL) return url;
  return url.replace(/^(postgres(?:ql)?:\/\/)(?:[^@/]*@)?/, '$1checkout_app:checkout_app@');
}
