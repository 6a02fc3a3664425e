"""dlt's own way to the table that `mirror` fills: its REST source asks for the issues, and a DuckDB file gets them.

`benchmarks/mirror.py ISSUES beside` runs it; a second run asks for what was changed since the first.
"""

from __future__ import annotations

import os
import sys

import dlt
from dlt.sources.rest_api import rest_api_source


def issues(address: str) -> object:
    since = {"cursor_path": "fields.updated", "initial_value": "1970-01-01T00:00:00.000+0000"}
    return rest_api_source(
        {
            "client": {
                "base_url": address,
                "auth": {"type": "http_basic", "username": "me@example.org", "password": "x"},
                "paginator": {"type": "cursor", "cursor_path": "nextPageToken", "cursor_param": "nextPageToken"},
            },
            "resources": [
                {
                    "name": "issues",
                    "primary_key": "id",
                    "write_disposition": "merge",
                    "max_table_nesting": 0,
                    "endpoint": {
                        "path": "rest/api/3/search/jql",
                        "params": {
                            # A date in a query is by the minute.
                            "jql": "updated >= '{incremental.start_value}' ORDER BY updated ASC",
                            "fields": "*all",
                            "expand": "changelog",
                            "maxResults": 100,
                        },
                        "data_selector": "issues",
                        "incremental": {**since, "convert": lambda at: at[:16].replace("T", " ")},
                    },
                }
            ],
        }
    )


def main() -> None:
    address, directory = sys.argv[1:]
    os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
    pipeline = dlt.pipeline(
        "beside",
        pipelines_dir=f"{directory}/state",
        destination=dlt.destinations.duckdb(f"{directory}/beside.duckdb"),
        dataset_name="site",
    )
    pipeline.run(issues(address))
    print(pipeline.last_trace.last_normalize_info.row_counts.get("issues", 0), "issues")


if __name__ == "__main__":
    main()
