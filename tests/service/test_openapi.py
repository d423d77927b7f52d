"""The OpenAPI document is true: schemathesis tries whatever it allows, and some things it does not."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from stand_in import Served, StandInRun, serving

from mapl.service.app import ROUTES

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(StandInRun(queries=100_000, abstentions=500)) as running:
        yield running


@pytest.fixture(scope="module")
def api(served: Served) -> BaseSchema:
    return schemathesis.openapi.from_url(f"{served.url}/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["as told", "otherwise"])
@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _, _ in ROUTES])
def test_every_route_keeps_what_the_document_says(
    served: Served, api: BaseSchema, method: str, path: str, mode: GenerationMode
) -> None:
    headers = {"Authorization": f"Bearer {served.key()}"}
    operation = api[path][method]
    if mode is GenerationMode.NEGATIVE and not list(operation.iter_parameters()) and not operation.body:
        return  # there is nothing to get wrong

    @settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def keeps_it(case: Case) -> None:
        case.call_and_validate(headers=headers, checks=list(CHECKS))

    keeps_it()


def test_a_document_that_says_less_is_caught(served: Served, api: BaseSchema) -> None:
    """The test above can fail."""
    told = deepcopy(dict(api.raw_schema))
    del told["paths"]["/v1/ledger"]["get"]["responses"]["422"]
    api = schemathesis.openapi.from_dict(told)
    headers = {"Authorization": f"Bearer {served.key()}"}

    @settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=api["/v1/ledger"]["GET"].as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def keeps_it(case: Case) -> None:
        case.call_and_validate(base_url=served.url, headers=headers, checks=list(CHECKS))

    with pytest.raises(FailureGroup, match="Received: 422"):
        keeps_it()


def test_the_document_knows_every_route(served: Served) -> None:
    with served.client() as client:
        document = client.get("/openapi.json").json()
    told = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert told == {(method, path) for method, path, _, _ in ROUTES}
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            assert said["description"], path
            needs_key = next(scopes for m, p, _, scopes in ROUTES if (m, p) == (method.upper(), path))
            assert ("security" in said) == bool(needs_key)
            assert ("401" in said["responses"]) == bool(needs_key)
