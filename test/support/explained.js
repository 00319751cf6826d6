/** PostgreSQL writes down each statement with the plan that it was carried out by, a JSON object a line. */
export const EXPLAINED = {
  shared_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_format': 'json',
  'auto_explain.log_verbose': 'on',
  'auto_explain.log_parameter_max_length': '0',
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_directory: 'statements',
  log_rotation_age: '0',
  log_rotation_size: '0',
};
