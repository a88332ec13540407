"""What Discord's own menus say of the commands, in the languages of their readers. Pure but for the library's class.

Names of commands and options stay English, as documentation, messages and people name them so; descriptions, choices
and entries in menus are translated. What has no translation is shown in English.
"""

from collections.abc import Mapping
from typing import Final

from discord import Locale, app_commands

_DE, _FR, _ES, _JA = Locale.german, Locale.french, Locale.spain_spanish, Locale.japanese
LANGUAGES: Final = (_DE, _FR, _ES, _JA)
_SAME: Final = {Locale.latin_american_spanish: _ES}


def translated(text: str, locale: Locale) -> str | None:
    """A description, a choice or an entry in that language; None if there is none."""
    found = TRANSLATIONS.get(text)
    return None if found is None else found.get(_SAME.get(locale, locale))


class Translator(app_commands.Translator):
    async def translate(
        self,
        string: app_commands.locale_str,
        locale: Locale,
        context: app_commands.TranslationContextTypes,  # noqa: ARG002 -- the same words mean the same everywhere here
    ) -> str | None:
        return translated(string.message, locale)


def _in(german: str, french: str, spanish: str, japanese: str) -> Mapping[Locale, str]:
    return {_DE: german, _FR: french, _ES: spanish, _JA: japanese}


TRANSLATIONS: Final[Mapping[str, Mapping[Locale, str]]] = {
    "Ask me something": _in("Frag mich etwas", "Pose-moi une question", "Pregúntame algo", "質問する"),
    "Your question": _in("Deine Frage", "Ta question", "Tu pregunta", "質問の内容"),
    "Only you see the answer": _in(
        "Nur du siehst die Antwort",
        "Toi seul vois la réponse",
        "Solo tú ves la respuesta",
        "回答は自分だけに表示されます",
    ),
    "How long I may think about it": _in(
        "Wie lange ich darüber nachdenken darf",
        "Combien de temps je peux y réfléchir",
        "Cuánto tiempo puedo pensarlo",
        "どれだけ時間をかけて考えるか",
    ),
    "as you see fit": _in("nach deinem Ermessen", "comme tu l’entends", "como veas", "おまかせ"),
    "answer fast": _in("schnell antworten", "répondre vite", "responder rápido", "素早く答える"),
    "think deeply": _in("gründlich nachdenken", "réfléchir en profondeur", "pensar a fondo", "じっくり考える"),
    "The model that answers this question alone": _in(
        "Das Modell, das nur diese Frage beantwortet",
        "Le modèle qui répond à cette seule question",
        "El modelo que responde solo a esta pregunta",
        "この質問だけに答えるモデル",
    ),
    "A file that the question is about": _in(
        "Eine Datei, um die es in der Frage geht",
        "Un fichier sur lequel porte la question",
        "Un archivo sobre el que trata la pregunta",
        "質問に関するファイル",
    ),
    "Forget what you told me": _in(
        "Vergessen, was du mir gesagt hast",
        "Oublier ce que tu m’as dit",
        "Olvidar lo que me dijiste",
        "話したことを忘れる",
    ),
    "thread, everything, 2 hours, since Monday, or about and a word": _in(
        "thread, everything, 2 hours, since Monday oder about und ein Wort",
        "thread, everything, 2 hours, since Monday, ou about et un mot",
        "thread, everything, 2 hours, since Monday, o about y una palabra",
        "thread、everything、2 hours、since Monday、または about と語",
    ),
    "Which kind of thing that is": _in(
        "Was für eine Art von Sache das ist",
        "De quel genre de chose il s’agit",
        "Qué clase de cosa es",
        "忘れるものの種類",
    ),
    "this conversation": _in("dieses Gespräch", "cette conversation", "esta conversación", "この会話"),
    "a stretch of time": _in("ein Zeitraum", "une période", "un período", "ある期間"),
    "a subject": _in("ein Thema", "un sujet", "un tema", "ある話題"),
    "everything": _in("alles", "tout", "todo", "すべて"),
    "Delete my replies to it here, too": _in(
        "Auch meine Antworten darauf hier löschen",
        "Supprimer aussi mes réponses ici",
        "Borrar también mis respuestas aquí",
        "ここでの私の返信も削除する",
    ),
    "See what I remember about you, and decide about it": _in(
        "Sehen, was ich über dich weiß, und darüber entscheiden",
        "Voir ce que je sais de toi, et en décider",
        "Ver lo que recuerdo de ti y decidir sobre ello",
        "私が覚えていることを確認し、管理する",
    ),
    "delete 3, undo, correct 3 NEW WORDS, everywhere 3, here 3, export, pause, resume or help": _in(
        "delete 3, undo, correct 3 NEUE WORTE, everywhere 3, here 3, export, pause, resume oder help",
        "delete 3, undo, correct 3 NOUVEAUX MOTS, everywhere 3, here 3, export, pause, resume ou help",
        "delete 3, undo, correct 3 PALABRAS NUEVAS, everywhere 3, here 3, export, pause, resume o help",
        "delete 3、undo、correct 3 新しい言葉、everywhere 3、here 3、export、pause、resume、help",
    ),
    "Show what your questions took today and this month": _in(
        "Zeigen, was deine Fragen heute und diesen Monat gekostet haben",
        "Montrer ce que tes questions ont coûté aujourd’hui et ce mois-ci",
        "Mostrar lo que costaron tus preguntas hoy y este mes",
        "今日と今月の質問の使用量を表示する",
    ),
    "Stop the answer that is growing here": _in(
        "Die Antwort anhalten, die hier gerade entsteht",
        "Arrêter la réponse en cours ici",
        "Detener la respuesta en curso aquí",
        "ここで生成中の回答を止める",
    ),
    "Begin a new conversation here": _in(
        "Hier ein neues Gespräch beginnen",
        "Commencer ici une nouvelle conversation",
        "Empezar aquí una conversación nueva",
        "ここで新しい会話を始める",
    ),
    "Show or choose the model that answers you": _in(
        "Das Modell zeigen oder wählen, das dir antwortet",
        "Voir ou choisir le modèle qui te répond",
        "Ver o elegir el modelo que te responde",
        "回答に使うモデルを表示・選択する",
    ),
    "The model; “usual” goes back to the usual one": _in(
        "Das Modell; „usual“ ist wieder das übliche",
        "Le modèle ; « usual » revient à l’habituel",
        "El modelo; «usual» vuelve al habitual",
        "モデル名。「usual」で通常のモデルに戻ります",
    ),
    "Show what you may spend today; operators see and change all budgets": _in(
        "Zeigen, was du heute verbrauchen darfst; Betreiber sehen und ändern alle Budgets",
        "Voir ton budget du jour ; les opérateurs voient et changent tous les budgets",
        "Ver tu presupuesto de hoy; los operadores ven y cambian todos",
        "今日の予算を表示する。運用者は全員の予算を変更できます",
    ),
    "channel, everyone or @person; then $20, 5,000,000 tokens, exempt or reset": _in(
        "channel, everyone oder @person; dann $20, 5,000,000 tokens, exempt oder reset",
        "channel, everyone ou @person ; puis $20, 5,000,000 tokens, exempt ou reset",
        "channel, everyone o @person; luego $20, 5,000,000 tokens, exempt o reset",
        "channel、everyone、@person のあとに $20、5,000,000 tokens、exempt、reset",
    ),
    "Show what holds for everybody here; managers set and remove it": _in(
        "Zeigen, was hier für alle gilt; Manager setzen und entfernen es",
        "Voir ce qui vaut pour tous ici ; les responsables le fixent et le retirent",
        "Ver lo que rige aquí para todos; los responsables lo fijan y lo quitan",
        "ここで全員に適用される方針を表示する。管理者は設定・削除できます",
    ),
    "list, history, set NAME: WHAT HOLDS, or remove 3": _in(
        "list, history, set NAME: WAS GILT oder remove 3",
        "list, history, set NOM: CE QUI VAUT, ou remove 3",
        "list, history, set NOMBRE: LO QUE RIGE, o remove 3",
        "list、history、set 名前: 内容、または remove 3",
    ),
    "Choose how I answer you, and, if you manage this place, where": _in(
        "Wählen, wie ich dir antworte, und, wenn du diesen Ort verwaltest, wo",
        "Choisir comment je te réponds et, si tu gères ce lieu, où",
        "Elegir cómo te respondo y, si administras este lugar, dónde",
        "回答のしかたを選ぶ。管理者は回答する場所も選べます",
    ),
    "Say what I can do, and how to ask for it": _in(
        "Sagen, was ich kann und wie man darum bittet",
        "Dire ce que je sais faire et comment le demander",
        "Decir qué sé hacer y cómo pedirlo",
        "できることと頼み方を説明する",
    ),
    "Ask about this": _in("Dazu fragen", "Poser une question", "Preguntar sobre esto", "これについて質問"),
    "Forget this": _in("Das vergessen", "Oublier ceci", "Olvidar esto", "これを忘れる"),
}
"""By the English text, for each of LANGUAGES."""
