"""Whose variable leads a request through a proxy."""

import pytest

from providers.proxies import proxy_variable

ADDRESS = "https://models.example/v1"


@pytest.mark.parametrize(
    ("url", "environment", "named"),
    [
        (ADDRESS, {}, None),
        (ADDRESS, {"HTTPS_PROXY": "http://p"}, "HTTPS_PROXY"),
        (ADDRESS, {"https_proxy": "http://p", "HTTPS_PROXY": "http://q"}, "https_proxy"),
        (ADDRESS, {"HTTP_PROXY": "http://p"}, None),
        (ADDRESS, {"ALL_PROXY": "http://p"}, "ALL_PROXY"),
        (ADDRESS, {"HTTPS_PROXY": "http://p", "NO_PROXY": "other.example"}, "HTTPS_PROXY"),
        (ADDRESS, {"HTTPS_PROXY": "http://p", "NO_PROXY": "a.b, models.example"}, None),
        (ADDRESS, {"HTTPS_PROXY": "http://p", "no_proxy": "*"}, None),
        ("http://127.0.0.1:9/v1", {"HTTP_PROXY": "http://p"}, None),
        ("http://[::1]:9/v1", {"HTTP_PROXY": "http://p"}, None),
        ("http://models.example", {"HTTP_PROXY": "http://p"}, "HTTP_PROXY"),
    ],
)
def test_the_variable_is_named(url: str, environment: dict[str, str], named: str | None) -> None:
    assert proxy_variable(url, environment) == named
