# What scripts do with the orchestrator, checked. Arguments: URL, CA file, token file, certname.
require_relative 'orchestrator'

url, cacert, token_file, node = ARGV
client = Orchestrator.new(service_url: url, cacert: cacert, token: File.read(token_file).strip)

def check(what, truth)
  raise "not so: #{what}" unless truth

  puts "ok #{what}"
end

def refused(kind)
  yield
  raise "not refused with #{kind}"
rescue Orchestrator::ApiError => e
  check("refused with #{kind}", e.kind == kind)
end

scope = { 'nodes' => [node] }
task = { 'environment' => 'production', 'task' => 'greet', 'params' => { 'name' => 'Ruby' },
         'scope' => scope, 'noop' => nil }

root = client.get('')
check('the root names its commands', root['commands'].any? { |one| one['name'] == 'task' })

job = client.command('task', task)['job']
check('a job has a number and a URL', job['id'].end_with?("/jobs/#{job['name']}"))
report, nodes = client.wait(job['name'])
check('the report has the node', report.map { |item| item['node'] } == [node])
check('the node finished', nodes[0]['state'] == 'finished')
check('its result is the output', nodes[0]['result']['_output'] == "hello Ruby\n")
types = client.events(job['name']).map { |event| event['type'] }
check('its events end the job', types == %w[node_running node_finished job_finished])

failing = client.command('task', task.merge('params' => { 'name' => 'fail' }))['job']
_, nodes = client.wait(failing['name'])
check('a failure is told', nodes[0]['result']['_error']['details']['exit_code'] == 3)
check('a failed job is failed', client.get("jobs/#{failing['name']}")['state'] == 'failed')

stopped = client.command('stop', 'job' => failing['name'])['job']
check('a stop is idempotent', stopped['nodes']['failed'] == 1)

newest = client.get('jobs?limit=1&order_by=name&order=desc')['items'][0]
check('jobs are sorted by number', newest['name'] == failing['name'])

inventory = client.post('inventory', 'nodes' => [node, 'nobody.test'])['items']
check('every asked node is answered', inventory.map { |item| item['connected'] } == [true, false])

plan = client.command('plan_start', 'plan_name' => 'my::plan', 'params' => { 'a' => 1 },
                                    'sensitive' => [])['name']
step = client.command('plan_task', task.merge('plan_job' => plan))['job']
client.wait(step['name'])
check('a step is a plan_task', client.get("jobs/#{step['name']}")['type'] == 'plan_task')
client.command('plan_finish', 'plan_job' => plan, 'result' => { 'x' => [1] }, 'status' => 'success')
over = client.get("plan_jobs/#{plan}")
check('the plan names its step', over['status'].keys == [step['name']])
check('the plan is over', over['state'] == 'success' && over['result'] == { 'x' => [1] })
refused('puppetlabs.orchestrator/plan-already-finished') do
  client.command('plan_task', task.merge('plan_job' => plan))
end

types = client.get("plan_jobs/#{plan}/events")['items'].map { |event| event['type'] }
check('the plan has its events', types == %w[task_start plan_finished])
stopped = client.command('plan_start', 'plan_name' => 'my::plan', 'params' => {}, 'sensitive' => [])
2.times { client.command('stop_plan', 'plan_job' => stopped['name']) }
newest = client.get('plan_jobs?limit=1&order_by=name&order=desc&results=exclude')['items'][0]
check('a stopped plan has failed', newest['name'] == stopped['name'] && newest['state'] == 'failure')
refused('puppetlabs.orchestrator/mismatched-job-event-id') do
  client.get("plan_jobs/#{stopped['name']}/event/1")
end
refused('puppetlabs.orchestrator/unknown-plan') { client.get('plans/my/plan') }

names = client.get('environments')['items'].map { |one| one['name'] }
check('the environments are listed', names.include?('production'))
check('the tasks are described', client.get('tasks')['items'].any? { |one| one['permitted'] })
today = client.get('usage')['items'][0]
check('usage counts the node', today['total_nodes'] == 1 && today['nodes_affected_by_plan_runs'] == 1)

refused('puppetlabs.orchestrator/unknown-task') { client.command('task', task.merge('task' => 'no')) }
refused('puppetlabs.orchestrator/unknown-job') { client.get('jobs/999999') }
refused('puppetlabs.orchestrator/validation-error') { client.get('jobs/abc') }
refused('puppetlabs.orchestrator/empty-target') do
  client.command('task', task.merge('scope' => { 'nodes' => [] }))
end
