# A client of the orchestrator as Ruby people write it: persistent TLS 1.2 connections, a
# Content-Type on every request, a poll of the job's state every second, then report and nodes.
require 'json'
require 'net/http'
require 'openssl'
require 'uri'

# Talks to /orchestrator/v1 with a token.
class Orchestrator
  # What the server answers when it refuses.
  class ApiError < StandardError
    attr_reader :kind, :details, :code

    def initialize(code, body)
      @code = code
      @kind = body.fetch('kind')
      @details = body.fetch('details')
      super(body.fetch('msg'))
    end
  end

  ENDED = %w[stopped finished failed].freeze

  def initialize(service_url:, cacert:, token:)
    @base = URI("#{service_url}/orchestrator/v1/")
    @token = token
    @http = Net::HTTP.new(@base.host, @base.port)
    @http.use_ssl = true
    @http.ca_file = cacert
    @http.min_version = OpenSSL::SSL::TLS1_2_VERSION
    @http.max_version = OpenSSL::SSL::TLS1_2_VERSION
    @http.keep_alive_timeout = 30
    @http.start
  end

  def get(path)
    answer(@http.get(@base.path + path, headers), [200])
  end

  def post(path, body)
    answer(@http.post(@base.path + path, JSON.generate(body), headers), [200, 202])
  end

  def command(name, body)
    post("command/#{name}", body)
  end

  # Waits for the end of a job, and gives its report and its nodes.
  def wait(id, interval: 0.2, patience: 60)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + patience
    until ENDED.include?(get("jobs/#{id}")['state'])
      raise "job #{id} does not end" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep interval
    end
    [get("jobs/#{id}/report")['items'], get("jobs/#{id}/nodes")['items']]
  end

  # Every event of a job, in order, until the one that ends it.
  def events(id)
    all = []
    start = nil
    loop do
      page = get("jobs/#{id}/events#{"?start=#{start}" if start}")
      all.concat(page['items'])
      start = page['next-events']['event']
      return all if all.any? { |event| %w[job_finished job_aborted].include?(event['type']) }
    end
  end

  private

  def headers
    {
      'X-Authentication' => @token,
      'Content-Type' => 'application/json',
      'User-Agent' => 'OrchestratorRubyClient/0.7.2'
    }
  end

  def answer(response, accepted)
    body = response.body.to_s.empty? ? {} : JSON.parse(response.body)
    return body if accepted.include?(response.code.to_i)

    raise ApiError.new(response.code.to_i, body)
  end
end
