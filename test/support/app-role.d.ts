/** The URL of the database for the role that the service runs as. */
export function asService(url: string): string;
