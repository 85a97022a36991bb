"""What stands in infra/ is valid as far as that shows without a container engine or a cluster."""

import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from packaging.requirements import Requirement
from ray.autoscaler._private.util import prepare_config, validate_config
from typer.main import get_command

from campaigns.definition import load_definition
from orchestrator.cli.main import app
from orchestrator.store import is_shared
from providers.routes import parse_route

ROOT: Final = Path(__file__).parent.parent
INFRA: Final = ROOT / "infra"
DOCKERFILE: Final = INFRA / "Dockerfile"

# What `docker build` knows: an unknown word ends the build.
INSTRUCTIONS: Final = frozenset(
    {"ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL"}
    | {"ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"}
)


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments, lines that go on joined."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    words = [line.split(maxsplit=1) for line in lines if line.strip()]
    return [(instruction, argument.strip()) for instruction, argument in words]


def arguments(wanted: str) -> list[str]:
    return [argument for instruction, argument in instructions() if instruction == wanted]


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((INFRA / name).read_text(encoding="utf-8")))


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(path: Path) -> dict[str, str]:
    text = path.read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.MULTILINE))


def copied() -> list[str]:
    """The sources in the checkout that the Dockerfile copies."""
    own = [shlex.split(words) for words in arguments("COPY") if not words.startswith("--from")]
    return [source for words in own for source in words[:-1]]


def test_the_dockerfile_has_only_instructions_that_there_are() -> None:
    found = [instruction for instruction, _ in instructions()]
    assert found[0] == "FROM"
    assert set(found) <= INSTRUCTIONS


def test_the_image_is_built_from_a_slim_python_of_one_version_that_the_project_supports() -> None:
    versions = set()
    for words in arguments("FROM"):
        image = re.fullmatch(r"python:(3\.\d+)-slim-[a-z]+( AS [a-z]+)?", words)
        assert image, words
        versions.add(image[1])
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert len(versions) == 1
    assert (
        f"Programming Language :: Python :: {versions.pop()}" in settings["project"]["classifiers"]
    )


def test_what_is_copied_into_the_image_exists_and_is_not_ignored() -> None:
    ignore = (INFRA / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line[1:] for line in ignore if line.startswith("!")}
    sources = {source.removeprefix("./") for source in copied()}
    assert "*" in ignore
    assert sources == allowed
    for source in sources:
        assert (ROOT / source).exists(), source
    stages = {words.split(" AS ")[1] for words in arguments("FROM") if " AS " in words}
    for words in arguments("COPY"):
        if words.startswith("--from="):
            assert words.split()[0].removeprefix("--from=") in stages


def test_the_image_has_all_that_the_wheel_needs(tmp_path: Path) -> None:
    for source in copied():
        target = tmp_path / Path(source).name
        if source != "infra/requirements.lock":
            target.symlink_to(ROOT / source, target_is_directory=(ROOT / source).is_dir())
    build = "from hatchling.build import build_wheel; print(build_wheel('dist'))"
    built = subprocess.run(
        [sys.executable, "-c", build], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    wheel = zipfile.ZipFile(tmp_path / "dist" / built.stdout.split()[-1])
    assert "orchestrator/cli/main.py" in wheel.namelist()
    assert "campaigns/library/main.toml" in wheel.namelist()
    (entries,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    assert "ceo-arena = orchestrator.cli.main:main" in wheel.read(entries).decode()


def test_the_image_runs_as_nobody_special_and_holds_no_secret() -> None:
    last = [instruction for instruction, _ in instructions()][::-1].index("FROM")
    final = instructions()[-last:]
    assert ("USER", "arena") in final
    assert not any(instruction == "ENTRYPOINT" for instruction, _ in final)
    text = " ".join(argument for instruction, argument in instructions() if instruction != "RUN")
    assert not re.search(r"PASSWORD|API_KEY|TOKEN|SECRET", text)


def test_the_image_has_the_locked_versions_and_the_parts_of_ray_that_clusters_need() -> None:
    locked, image = pins(ROOT / "requirements.lock"), pins(INFRA / "requirements.lock")
    needed = {Requirement(line).name for line in project()["dependencies"]}
    assert needed <= image.keys()
    assert {"aiohttp", "prometheus-client"} <= image.keys(), "the parts of ray[default]"
    differing = {name for name in locked.keys() & image.keys() if locked[name] != image[name]}
    assert not differing, "make lock"
    text = (INFRA / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    for block in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block, block


def test_ray_up_takes_the_cluster_file() -> None:
    (config,) = documents("ray-cluster.yaml")
    validate_config(prepare_config(config))
    assert config["min_workers"] == config["max_workers"] == len(config["provider"]["worker_ips"])
    for command in [*config["head_start_ray_commands"], *config["worker_start_ray_commands"]]:
        check_ray_command(command)


def check_ray_command(command: str) -> None:
    """Raise unless the installed Ray knows the command and all its options."""
    from ray.scripts.scripts import cli

    _, verb, *options = shlex.split(command)
    cli.commands[verb].make_context(verb, options)


def test_a_wrong_cluster_file_would_be_noticed() -> None:
    (config,) = documents("ray-cluster.yaml")
    config["docker"]["images"] = "ceo-arena"
    with pytest.raises(Exception, match="images"):
        validate_config(prepare_config(config))


def pods(job: Any) -> Iterator[Any]:
    cluster = job["spec"]["rayClusterSpec"]
    for group in [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]:
        yield group["template"]["spec"]


def test_the_kuberay_job_is_one_and_fits_ray_and_the_command() -> None:
    (job,) = documents("kuberay-job.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    program, *words = shlex.split(job["spec"]["entrypoint"])
    assert program == "ceo-arena"
    command = get_command(app).commands[words[0]]  # type: ignore[attr-defined]
    options = command.make_context(words[0], words[1:]).params
    assert options["address"] == "auto"
    load_definition(options["campaign"])
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["rayVersion"] == pins(INFRA / "requirements.lock")["ray"]
    for group in cluster["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        assert group["replicas"] >= 2


def test_every_pod_of_the_job_is_told_all_that_main_needs() -> None:
    (job,) = documents("kuberay-job.yaml")
    needed = set()
    for candidate in load_definition("main").all_candidates():
        if candidate.route is not None:
            route = parse_route(candidate.route, candidate.id)
            needed |= {route.endpoint_env, *route.credentials} - {None, "no key"}
    assert needed
    images = set()
    for pod in pods(job):
        (container,) = pod["containers"]
        images.add(container["image"])
        assert pod["securityContext"]["runAsNonRoot"]
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        environment = {entry["name"]: entry for entry in container["env"]}
        assert len(environment) == len(container["env"])
        assert needed <= environment.keys()
        assert is_shared(environment.pop("CEO_ARENA_STORE")["value"])
        for entry in environment.values():
            assert set(entry) == {"name", "valueFrom"}, "a secret must not stand in the file"
            assert set(entry["valueFrom"]["secretKeyRef"]) == {"name", "key"}
    assert len(images) == 1
    assert images == {documents("ray-cluster.yaml")[0]["docker"]["image"]}


def test_the_postgresql_of_kubernetes_is_the_one_that_the_job_names() -> None:
    service, server = documents("postgresql.yaml")
    assert (service["apiVersion"], service["kind"]) == ("v1", "Service")
    assert (server["apiVersion"], server["kind"]) == ("apps/v1", "StatefulSet")
    assert server["spec"]["serviceName"] == service["metadata"]["name"]
    pod = server["spec"]["template"]
    labels = server["spec"]["selector"]["matchLabels"]
    assert labels == pod["metadata"]["labels"] == service["spec"]["selector"]
    (container,) = pod["spec"]["containers"]
    environment = {entry["name"]: entry for entry in container["env"]}
    assert set(environment["POSTGRES_PASSWORD"]) == {"name", "valueFrom"}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    claimed = {claim["metadata"]["name"] for claim in server["spec"]["volumeClaimTemplates"]}
    assert mounts.keys() == claimed | {volume["name"] for volume in pod["spec"]["volumes"]}
    assert environment["PGDATA"]["value"].startswith(mounts["data"] + "/")
    (job,) = documents("kuberay-job.yaml")
    told = {entry["name"]: entry for entry in next(pods(job))["containers"][0]["env"]}
    user, database = (environment[f"POSTGRES_{word}"]["value"] for word in ("USER", "DB"))
    assert told["CEO_ARENA_STORE"]["value"] == (
        f"postgresql://{user}@{service['metadata']['name']}/{database}"
    )
    secret = environment["POSTGRES_PASSWORD"]["valueFrom"]["secretKeyRef"]
    assert told["PGPASSWORD"]["valueFrom"]["secretKeyRef"] == secret


def test_the_postgresql_of_compose_reads_its_password_from_a_file_that_git_ignores() -> None:
    (compose,) = documents("compose.yaml")
    service = compose["services"]["postgresql"]
    assert (
        service["image"]
        == documents("postgresql.yaml")[1]["spec"]["template"]["spec"]["containers"][0]["image"]
    )
    (secret,) = service["secrets"]
    assert service["environment"]["POSTGRES_PASSWORD_FILE"] == f"/run/secrets/{secret}"
    assert "POSTGRES_PASSWORD" not in service["environment"]
    file = (INFRA / compose["secrets"][secret]["file"]).relative_to(ROOT)
    assert f"/{file}" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    (volume,) = service["volumes"]
    assert volume.partition(":")[0] in compose["volumes"]


PAGE: Final = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")


def test_the_page_names_files_and_commands_that_there_are() -> None:
    for name in re.findall(r"\binfra/[A-Za-z0-9._-]+", PAGE):
        known = (ROOT / name).exists()
        assert known or f"/{name}" in (ROOT / ".gitignore").read_text(encoding="utf-8"), name
    commands = get_command(app).commands  # type: ignore[attr-defined]
    used = set(re.findall(r"\bceo-arena ([a-z]+(?:-[a-z]+)*)", PAGE)) - {"bash"}
    assert {"launch", "watch", "pause", "resume", "stop", "audit", "doctor"} <= used
    assert used <= commands.keys()
