import { AppModule } from '../../../src/app.module.js';
import { loadConfig } from '../../../src/config/config.js';
import { createApp } from '../../../src/create-app.js';
import { ReturnsRoutes } from './return-items.module.js';

/** The service with returns in it, as a process that a test may kill. In a service of your own, `app.module.ts` names the module. */
const config = loadConfig();
const app = await createApp(config, {
  module: class Root {},
  imports: [AppModule.for(config), ReturnsRoutes],
});
await app.listen(config.port, config.host);
