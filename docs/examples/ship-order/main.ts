import { AppModule } from '../../../src/app.module.js';
import { loadConfig } from '../../../src/config/config.js';
import { createApp } from '../../../src/create-app.js';
import { ShipOrderModule } from './ship-order.module.js';

/** The service with shipments in it, as a process that a test may kill: `main.ts <url of the warehouse>`. */
const config = loadConfig();
const app = await createApp(config, {
  module: class Root {},
  imports: [AppModule.for(config), ShipOrderModule.at(process.argv[2]!)],
});
await app.listen(config.port, config.host);
