import { InitialSchema1764374400000 } from '../../migrations/1764374400000-initial-schema.js';

/** Every migration, in order. Listed by hand: a glob would find nothing after a build with another layout. */
export const migrations = [InitialSchema1764374400000];
