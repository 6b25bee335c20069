"""Events of SQL Trace and Extended Events: their names, columns and units, and what each of them is to a recording.

Sources: ``sp_trace_setevent`` and ``sys.trace_columns`` in Microsoft's documentation, the dictionaries inside ``.xel``
files. Since SQL Server 2005 SQL Trace notes Duration in µs, CPU in ms, Reads and Writes in pages of 8 KiB (reads are
logical; physical ones it has not). Extended Events note ``duration`` and ``cpu_time`` of queries in µs, even where the
dictionary of a file calls ``cpu_time`` milliseconds; durations of waits are ms.
"""

from enum import IntEnum

from tiersim.units import NS_PER_MS, NS_PER_US

PAGE_BYTES = 8192


class What(IntEnum):
    """What an event is."""

    OTHER = 0  # nothing that is imported: starts, plans, errors
    BATCH = 1  # a client's batch was done
    RPC = 2  # a client's call of a procedure was done
    STATEMENT = 3  # a statement of a batch was done: part of it
    PROCEDURE_STATEMENT = 4  # a statement inside a procedure, trigger, function or sp_executesql was done
    LOGIN = 5  # a session begins, anew where connections are pooled
    LOGOUT = 6
    WAIT = 7  # a worker has waited
    PAGE_READ = 8  # a page was read from disk
    FILE_READ = 9  # a file was read, a request of any length
    FILE_WRITE = 10
    BEGINNING = 11  # of a batch, call or statement: has neither duration nor costs


#: Event classes of SQL Trace by number.
CLASS_NAMES = {
    10: "RPC:Completed", 11: "RPC:Starting", 12: "SQL:BatchCompleted", 13: "SQL:BatchStarting", 14: "Audit Login",
    15: "Audit Logout", 16: "Attention", 17: "ExistingConnection", 40: "SQL:StmtStarting", 41: "SQL:StmtCompleted",
    42: "SP:Starting", 43: "SP:Completed", 44: "SP:StmtStarting", 45: "SP:StmtCompleted", 71: "Prepare SQL",
    72: "Exec Prepared SQL", 92: "Data File Auto Grow", 93: "Log File Auto Grow", 94: "Data File Auto Shrink",
    95: "Log File Auto Shrink", 100: "RPC Output Parameter", 137: "Blocked process report", 148: "Deadlock graph",
    65528: "Trace Start", 65533: "Trace Stop", 65534: "Trace Pause",
}  # fmt: skip

#: What the classes that matter are.
CLASSES = {
    10: What.RPC, 11: What.BEGINNING, 12: What.BATCH, 13: What.BEGINNING, 14: What.LOGIN, 15: What.LOGOUT,
    40: What.BEGINNING, 41: What.STATEMENT, 42: What.BEGINNING, 44: What.BEGINNING, 45: What.PROCEDURE_STATEMENT,
}  # fmt: skip

#: Columns of SQL Trace by number; trace tables, ``fn_trace_gettable`` and Profiler's XML have the same names.
COLUMN_NAMES = dict(
    enumerate((
        "TextData", "BinaryData", "DatabaseID", "TransactionID", "LineNumber", "NTUserName", "NTDomainName",
        "HostName", "ClientProcessID", "ApplicationName", "LoginName", "SPID", "Duration", "StartTime",
        "EndTime", "Reads", "Writes", "CPU", "Permissions", "Severity", "EventSubClass", "ObjectID", "Success",
        "IndexID", "IntegerData", "ServerName", "EventClass", "ObjectType", "NestLevel", "State", "Error",
        "Mode", "Handle", "ObjectName", "DatabaseName", "FileName", "OwnerName", "RoleName", "TargetUserName",
        "DBUserName", "LoginSid", "TargetLoginName", "TargetLoginSid", "ColumnPermissions", "LinkedServerName",
        "ProviderName", "MethodName", "RowCounts", "RequestID", "XactSequence", "EventSequence", "BigintData1",
        "BigintData2", "GUID", "IntegerData2", "ObjectID2", "Type", "OwnerID", "ParentName", "IsSystem",
        "Offset", "SourceDatabaseID", "SqlHandle", "SessionLoginName", "PlanHandle", "GroupID",
    ), start=1)
)  # fmt: skip

#: Numeric columns of SQL Trace that executions need: what they are there, and what one unit of the column is.
TRACE_NUMBERS = {
    "Duration": ("duration_ns", NS_PER_US),
    "CPU": ("cpu_ns", NS_PER_MS),
    "Reads": ("logical_reads", 1),
    "Writes": ("writes", 1),
    "RowCounts": ("rows", 1),
    "SPID": ("session", 1),
    "TransactionID": ("transaction", 1),
    "NestLevel": ("nest", 1),
    "Error": ("outcome", 1),
}

#: Extended Events that matter, by name.
XE_EVENTS = {
    "sql_batch_completed": What.BATCH,
    "rpc_completed": What.RPC,
    "sql_statement_completed": What.STATEMENT,
    "sp_statement_completed": What.PROCEDURE_STATEMENT,
    "sql_batch_starting": What.BEGINNING,
    "rpc_starting": What.BEGINNING,
    "sql_statement_starting": What.BEGINNING,
    "sp_statement_starting": What.BEGINNING,
    "login": What.LOGIN,
    "logout": What.LOGOUT,
    "wait_completed": What.WAIT,
    "wait_info": What.WAIT,
    "physical_page_read": What.PAGE_READ,
    "file_read_completed": What.FILE_READ,
    "file_write_completed": What.FILE_WRITE,
}

#: Fields and actions of completed queries: what they are to executions, and what one unit is. Waits have ``duration``
#: in ms.
XE_NUMBERS = {
    "duration": ("duration_ns", NS_PER_US),
    "cpu_time": ("cpu_ns", NS_PER_US),
    "logical_reads": ("logical_reads", 1),
    "physical_reads": ("physical_reads", 1),
    "writes": ("writes", 1),
    "row_count": ("rows", 1),
    "session_id": ("session", 1),
    "transaction_id": ("transaction", 1),
    "nest_level": ("nest", 1),
    "result": ("outcome", 1),
}
#: The outcome of an execution that its client gave up: 0 OK, 1 error, 2 abort (column Error of SQL:BatchCompleted and
#: RPC:Completed, the map ``result`` of Extended Events).
ABORTED = 2
#: Fields that may hold the text of a query.
XE_TEXTS = ("statement", "batch_text")


class Wait(IntEnum):
    """Classes of waits, as statements tell them apart."""

    OTHER = 0
    LOCK = 1
    IO = 2
    LOG = 3
    CLIENT = 4


_WAITS = {
    Wait.LOCK: ("LCK_",),
    Wait.IO: ("PAGEIOLATCH", "IO_COMPLETION", "ASYNC_IO_COMPLETION"),
    Wait.LOG: ("WRITELOG", "LOGBUFFER"),
    Wait.CLIENT: ("ASYNC_NETWORK_IO", "NETWORK_IO"),
}


def wait_class(name: str) -> Wait:
    """Return the class of a wait type (``sys.dm_os_wait_stats``), as the wait events or DMVs name it.

    >>> wait_class("PAGEIOLATCH_SH").name
    'IO'
    """
    return next((kind for kind, begins in _WAITS.items() if name.upper().startswith(begins)), Wait.OTHER)
