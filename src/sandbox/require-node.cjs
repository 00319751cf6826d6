// Runs before the build, in the oldest syntax there is: an old Node should end in a sentence, not in a SyntaxError.
var wanted = require('../../package.json').engines.node.replace('>=', '');
var isAtLeast = function (have, want) {
  for (var i = 0; i < want.length; i++) {
    if (have[i] !== want[i]) return have[i] > want[i];
  }
  return true;
};
var numbers = function (version) {
  return version.split('.').map(Number);
};
if (!isAtLeast(numbers(process.versions.node), numbers(wanted + '.0'))) {
  console.error(
    'This is Node ' +
      process.versions.node +
      '; install Node ' +
      wanted +
      ' or newer (22 or 24 LTS will do).',
  );
  process.exit(1);
}
