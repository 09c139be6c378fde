"""Options from a file and into one."""

import tomllib

from .conftest import NO_PREDICTIONS, QUICK, ROLES

COMMAND = ("--predictions", "guess", "--format", "json")


def test_a_saved_configuration_gives_the_same_result(run, data, tmp_path):
    features = ("--features", "age", "--features", "d*")
    first = run("evaluate", data, *ROLES, *QUICK, *COMMAND, *features, "--save-config", "c.toml")
    assert first.exit_code == 0, first.output
    saved = tomllib.loads((tmp_path / "c.toml").read_text())
    assert saved["features"] == ["age", "d*"]
    assert saved["decision-maker"] == "officer"
    assert run("evaluate", data, "--config", "c.toml").stdout == first.stdout


def test_guessed_roles_are_saved(run, data, tmp_path):
    run("evaluate", data, "--yes", *QUICK, *COMMAND, "--features", "age", "--save-config", "c.toml")
    assert tomllib.loads((tmp_path / "c.toml").read_text())["label"] == "failed"


def test_the_command_line_wins(run, data, tmp_path):
    (tmp_path / "c.toml").write_text('features = ["age", "debt"]\nformat = "json"\nfolds = 2\nyes = true\n')
    command = ("evaluate", data, "--predictions", "guess", "--nuisance", "logistic", "--config", "c.toml")
    assert '"debt"' in run(*command).stdout
    assert '"debt"' not in run(*command, "--features", "age").stdout, "the file's list is not added to"


def test_an_unknown_key_is_named(refused, data, tmp_path):
    (tmp_path / "c.toml").write_text("colour = 'red'\n")
    assert refused("check", data, "--config", "c.toml") == "c.toml: 'colour' is not an option of check."


def test_a_table_in_the_file_is_refused(refused, data, tmp_path):
    (tmp_path / "c.toml").write_text("[label]\nname = 'y'\n")
    assert "'label' must be text" in refused("check", data, "--config", "c.toml")


def test_a_broken_or_missing_file_is_one_sentence(refused, data, tmp_path):
    (tmp_path / "c.toml").write_text("label = \n")
    assert "c.toml is not TOML" in refused("check", data, "--config", "c.toml")
    assert refused("check", data, "--config", "none.toml") == "There is no file none.toml."


def test_hostile_names_survive_the_file(run, cases, data, tmp_path):
    name = 'a"b\\c\x7f é'
    cases.rename(columns={"age": name}).to_csv(data, index=False)
    command = ("evaluate", data, *ROLES, *QUICK, *COMMAND, "--features", name, "--save-config", "c.toml")
    first = run(*command)
    assert first.exit_code == 0, first.output
    assert tomllib.loads((tmp_path / "c.toml").read_text())["features"] == [name]


def test_nothing_is_saved_if_the_roles_are_wrong(refused, data, tmp_path):
    refused("check", data, *ROLES, *NO_PREDICTIONS, "--label", "none", "--save-config", "c.toml")
    assert not (tmp_path / "c.toml").exists()


def test_an_option_with_two_spellings_is_saved_once_and_read_in_both(run, data, tmp_path):
    command = ("evaluate", data, *ROLES, *QUICK, *COMMAND, "--features", "age", "--metric", "tpr")
    first = run(*command, "--event", "no", "--save-config", "c.toml")
    assert first.exit_code == 0, first.output
    assert run(*command).stdout != first.stdout, "the last class is another failure"
    saved = (tmp_path / "c.toml").read_text()
    assert 'pos-label = "no"' in saved
    assert "event" not in saved
    (tmp_path / "old.toml").write_text(saved.replace("pos-label", "event"))
    for name in ("c.toml", "old.toml"):
        assert run("evaluate", data, "--config", name).stdout == first.stdout


def test_the_command_line_wins_in_either_spelling(refused, data, tmp_path):
    (tmp_path / "c.toml").write_text("event = 'none'\n")
    command = ("evaluate", data, *ROLES, *QUICK, *COMMAND, "--config", "c.toml")
    assert "--pos-label 'none' is not a class" in refused(*command)
    assert "--pos-label 'other' is not a class" in refused(*command, "--pos-label", "other")


def test_both_spellings_in_one_file_are_refused(refused, data, tmp_path):
    (tmp_path / "c.toml").write_text("pos-label = 'no'\nevent = 'yes'\n")
    sentence = refused("evaluate", data, *ROLES, *COMMAND, "--config", "c.toml")
    assert sentence == "c.toml: 'pos-label' and 'event' are the same option; give one."
