-- Sends the requests of a file, made and signed beforehand, one after the other.
-- Arguments: the file, milliseconds between two requests of a connection (0: none), and how many requests to leave out.
local requests, count, position, pause = {}, 0, 0, 0

function init(args)
  pause = tonumber(args[2] or "0")
  position = tonumber(args[3] or "0")
  local file = assert(io.open(args[1], "rb"))
  while true do
    local size = file:read(8)
    if not size then break end
    count = count + 1
    requests[count] = file:read(tonumber(size))
  end
  file:close()
  if pause > 0 then
    function delay() return pause end
  end
end

function request()
  position = position % count + 1
  return requests[position]
end

function done(summary, latency, calls)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  print(string.format("RESULT %d %d %d %d %d", summary.requests, summary.duration, latency:percentile(99), summary.errors.status, failed))
end
