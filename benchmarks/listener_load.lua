-- Sends the requests of a file, made and signed beforehand, one after the other.
-- Arguments: file, and the fraction of it to start at.
local requests, count, position = {}, 0, 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  while true do
    local size = file:read(8)
    if not size then break end
    count = count + 1
    requests[count] = file:read(tonumber(size))
  end
  file:close()
end

function request()
  position = position % count + 1
  return requests[position]
end
