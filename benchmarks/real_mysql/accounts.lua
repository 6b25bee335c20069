-- Transactions on accounts whose ranks follow Zipf's law, for sysbench 1.0.

sysbench.cmdline.options = {
   load = {"select_zipf, update_zipf or mixed", "select_zipf"},
   rows = {"rows of accounts", 4000000},
}

local EXPONENT = 1.05
local SPREAD = 2472137 -- shares no factor with the rows: the hot ones share no page
local TELLERS = 1000

-- Draws of the law, exact: W. Hörmann, G. Derflinger, Rejection-inversion to generate variates from monotone discrete
-- distributions, ACM TOMACS 6 (1996).
local rows, from, to, near

local function integral(x)
   return (x ^ (1 - EXPONENT) - 1) / (1 - EXPONENT)
end

local function inverse(u)
   return (1 + (1 - EXPONENT) * u) ^ (1 / (1 - EXPONENT))
end

local function rank()
   while true do
      local u = from + sysbench.rand.uniform_double() * (to - from)
      local x = inverse(u)
      local k = math.min(math.max(math.floor(x + 0.5), 1), rows)
      if k - x <= near or u >= integral(k + 0.5) - k ^ -EXPONENT then
         return k
      end
   end
end

local function account()
   return rank() * SPREAD % rows + 1
end

local function amount()
   return sysbench.rand.uniform(1, 5000)
end

local loads = {}

function loads.select_zipf()
   con:query(string.format("SELECT balance FROM accounts WHERE id = %d", account()))
end

local function update_account(id, delta)
   con:query(string.format("UPDATE accounts SET balance = balance + %d WHERE id = %d", delta, id))
end

function loads.update_zipf()
   update_account(account(), amount())
end

function loads.mixed()
   local id, teller, delta = account(), sysbench.rand.uniform(1, TELLERS), amount()
   con:query("BEGIN")
   loads.select_zipf()
   update_account(id, delta)
   con:query(string.format("UPDATE tellers SET balance = balance + %d WHERE id = %d", delta, teller))
   con:query(string.format("INSERT INTO history (teller, account, delta, filler) VALUES (%d, %d, %d, '')", teller, id, delta))
   con:query("COMMIT")
end

function thread_init()
   rows = tonumber(sysbench.opt.rows)
   from, to = integral(1.5) - 1, integral(rows + 0.5)
   near = 2 - inverse(integral(2.5) - 2 ^ -EXPONENT)
   con = sysbench.sql.driver():connect()
end

function event()
   loads[sysbench.opt.load]()
end

function thread_done()
   con:disconnect()
end
