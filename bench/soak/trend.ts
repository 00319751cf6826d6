/** The last value of the straight line through equally spaced values (least squares), divided by its first. */
export function growth(values: readonly number[]): number {
  const last = values.length - 1;
  const middle = last / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const spread = values.reduce((sum, _, place) => sum + (place - middle) ** 2, 0);
  const slope = values.reduce((sum, value, place) => sum + (place - middle) * (value - mean), 0) / spread;
  return (mean + slope * middle) / (mean - slope * middle);
}
