import { addressOf, readAddress, withoutDefaults } from './address.js';
import { Colours } from './colours.js';
import { Composer } from './composer.js';
import { Diagram } from './diagram.js';
import { byId } from './dom.js';
import { Lists } from './lists.js';
import { Picker } from './picker.js';
import { Playback } from './playback.js';
import { RowPanel } from './row.js';
import { Scores } from './scores.js';
import { Track } from './track.js';

const { scenarios, choices } = await (await fetch('scenarios')).json();

const calm = matchMedia('(prefers-reduced-motion: reduce)');
const colours = new Colours();
const playback = new Playback();
const track = new Track();
const scores = new Scores();
const lists = new Lists();
const diagram = new Diagram(colours, (index) => select(index, index === playback.length - 1));
const rowPanel = new RowPanel(colours, (label) => {
  chosenKey = label;
  show();
});
const picker = new Picker(scenarios, (picked) => pick(picked, true));
const composer = new Composer(choices, (recipe) => pick({ recipe: withoutDefaults(recipe, choices) }, true));

let picked;
let selected = -1;
let following = true;
let chosenKey;
let running;
let busy = null;
let clockOffset = Infinity;

/** Milliseconds since the run began, as the lab counts them. */
const now = () => performance.now() - clockOffset;

function pick(what, remember) {
  picked = what;
  const scenario = scenarioOf(what);
  if (remember) history.pushState(null, '', addressOf(what));
  byId('group').textContent = scenario.group;
  byId('title').textContent = scenario.title;
  byId('story').textContent = scenario.story;
  document.title = `${scenario.title} · The lab`;
  picker.show(what, scenario.title);
  composer.show(what.recipe);
  byId('compose').hidden = what.recipe !== undefined;
  if (!running) reset(scenario);
}

function scenarioOf({ id, recipe }) {
  return (
    scenarios.find((scenario) => scenario.id === id) ?? {
      group: 'Yours',
      title: 'Your own',
      story: 'Choose what the client does and what breaks. The address of the page carries your choice.',
      lesson: '',
      acts: [{ recipe }],
    }
  );
}

function reset(scenario) {
  diagram.clear();
  playback.clear();
  colours.reset();
  selected = -1;
  following = true;
  chosenKey = undefined;
  scores.prepare(scenario);
  byId('empty').hidden = false;
  say('');
  show();
}

async function run() {
  const body = JSON.stringify(picked.id ? { scenario: picked.id } : { recipe: picked.recipe });
  const headers = { 'Content-Type': 'application/json' };
  setRunning('…');
  try {
    const response = await fetch('runs', { method: 'POST', headers, body });
    const answer = await response.json();
    if (response.ok) return follow(answer.run, scenarioOf(picked));
    setRunning(undefined);
    say(answer.error, 'bad');
  } catch {
    setRunning(undefined);
    say('The lab does not answer. Is npm start still running?', 'bad');
  }
}

/** Listens to a run from its beginning to its end. */
function follow(id, scenario) {
  reset(scenario);
  setRunning(id);
  byId('empty').hidden = true;
  say('Running: everything below really happens.');
  byId('theatre').scrollIntoView({ behavior: calm.matches ? 'instant' : 'smooth' });
  clockOffset = Infinity;
  let heard = 0;
  let passed = 0;
  const source = new EventSource(`runs/${id}`);
  source.onopen = () => (passed = 0);
  source.onmessage = ({ data }) => {
    if (++passed <= heard) return; // after a reconnection it is all told again
    heard = passed;
    const message = JSON.parse(data);
    take(message);
    if (message.type === 'end') source.close();
  };
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED)
      return say('The connection to the lab broke; waiting for it to come back.', 'bad');
    setRunning(undefined);
    say('The lab was started anew, and knows nothing of this run.', 'bad');
  };
}

function take(message) {
  if (message.ms !== undefined) clockOffset = Math.min(clockOffset, performance.now() - message.ms);
  switch (message.type) {
    case 'act':
      playback.beginAct(message.act);
      diagram.beginAct(message.title, message.ms);
      chosenKey = undefined;
      return;
    case 'happening':
      return happened(message);
    case 'verdict':
      scores.judge(message);
      byId('announcer').textContent = message.text;
      return;
    case 'end':
      scores.end();
      setRunning(undefined);
      say(
        message.error ?? 'Done. Choose any line to see the row as it was then.',
        message.error ? 'bad' : 'good',
      );
  }
}

function happened(happening) {
  playback.add(happening);
  diagram.add(happening);
  scores.count(playback.at(playback.length - 1).act, happening.tally);
  byId('announcer').textContent = `${happening.title}. ${happening.text}`;
  if (following) select(playback.length - 1, true);
}

function select(index, follow) {
  selected = index;
  following = follow;
  chosenKey = undefined;
  diagram.select(index, follow);
  show();
}

/** The track and the row, as they were after what is selected. */
function show() {
  const moment = playback.at(selected);
  const label = chosenKey ?? moment.focus;
  const key = moment.keys[label];
  const live = following && running !== undefined;
  track.show({
    ...moment,
    key,
    visited: moment.visited[label],
    colour: colours.of(label, moment.owners[label]),
    calling: moment.calling && live,
  });
  rowPanel.show({ key, keys: moment.keys, live, now });
}

function setRunning(id) {
  running = id;
  byId('run').disabled = id !== undefined;
  byId('run').textContent = id === undefined ? 'Run it' : 'Running';
}

function say(text, tone = '') {
  byId('status').textContent = text;
  byId('status').className = `status ${tone}`;
}

function watchService() {
  const source = new EventSource('live');
  source.onmessage = ({ data }) => {
    const snapshot = JSON.parse(data);
    lists.show(snapshot);
    busy = snapshot.busy;
    trouble(snapshot.health);
    offerToWatch();
  };
  source.onerror = () => {
    lists.unknown();
    showTrouble(
      'The lab cannot be reached. Start the sandbox with npm start; this page reconnects by itself.',
    );
  };
}

function trouble(health) {
  const away = Object.entries(health)
    .filter(([, well]) => !well)
    .map(([name]) => name);
  const text =
    running === undefined && away.length > 0
      ? `The service is down: ${away.join(', ')} does not answer.`
      : '';
  showTrouble(text);
}

function showTrouble(text) {
  byId('trouble').textContent = text;
  byId('trouble').hidden = text === '';
}

function offerToWatch() {
  if (running !== undefined || busy === null) return;
  say(`Somebody is running “${busy.title}”. One scenario runs at a time.`);
}

byId('run').addEventListener('click', run);
byId('compose').addEventListener('click', () => {
  const { recipe } = scenarioOf(picked).acts[0];
  pick({ recipe: withoutDefaults(recipe, choices) }, true);
  byId('composer').querySelector('select').focus();
});
byId('share').addEventListener('click', async () => {
  await navigator.clipboard.writeText(location.href).then(
    () => say('The link is copied.'),
    () => say(location.href),
  );
});
addEventListener('popstate', () => pick(readAddress(scenarios, choices), false));

pick(readAddress(scenarios, choices), false);
watchService();
document.documentElement.dataset.ready = 'true';
