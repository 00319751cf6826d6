/** The role that the service runs as in tests, as in production: it owns nothing, so row security holds for it. */
export function asService(url) {
  return url.replace(/^(postgres(?:ql)?:\/\/)(?:[^@/]*@)?/, '$1checkout_app:checkout_app@');
}
